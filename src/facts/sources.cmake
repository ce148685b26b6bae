vramfit_room(facts
  SOURCES allocation_stream.cc block_events.cc block_levels.cc card_facts.cc diagnosed.cc explanation.cc job_builder.cc job_notes.cc module_calls.cc processes.cc reach.cc run_facts.cc
    runtime_evidence.cc stage_peaks.cc step_modules.cc step_window.cc step_work.cc told.cc training_record.cc wide_outputs.cc
  TESTS allocation_stream_test.cc block_events_test.cc card_facts_test.cc job_builder_test.cc module_calls_test.cc processes_test.cc reach_test.cc run_facts_test.cc runtime_evidence_test.cc step_modules_test.cc told_test.cc training_record_test.cc
  ROOMS ingest liveness model
  TEST_ROOMS verify)
