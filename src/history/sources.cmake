vramfit_room(history
  SOURCES compare.cc history.cc job_identity.cc live_runs.cc run_book.cc run_groups.cc
  TESTS history_test.cc live_runs_test.cc run_groups_test.cc
  ROOMS ingest model probe store
  TEST_ROOMS ingest job report)
