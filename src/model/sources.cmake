vramfit_room(model
  SOURCES card_figures.cc check.cc data_loss.cc environment_check.cc finding.cc fit_result.cc modules.cc stored_run.cc sweep.cc job.cc machine.cc number_text.cc plan.cc plan_schema.cc reach.cc
    run_result.cc sentence_kind.cc snapshot.cc snapshot_line.cc equivalence.cc other_programs.cc
  TESTS data_loss_test.cc number_text_test.cc plan_schema_test.cc plan_test.cc reach_test.cc snapshot_test.cc
  ROOMS base)
