vramfit_room(sweep
  SOURCES files.cc history.cc largest_search.cc local.cc slurm.cc sweep.cc variables.cc
  TESTS sweep_test.cc
  ROOMS history ingest model
  TEST_ROOMS ingest report)
