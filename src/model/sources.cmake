vramfit_room(model
  SOURCES environment_check.cc finding.cc fit_result.cc modules.cc stored_run.cc sweep.cc job.cc machine.cc note_fields.cc plan.cc recording.cc run_result.cc snapshot.cc
  TESTS note_fields_test.cc plan_test.cc snapshot_test.cc
  ROOMS base
  LIBS nlohmann_json::nlohmann_json)
