vramfit_room(sweep
  SOURCES files.cc history.cc largest_search.cc local.cc slurm.cc slurm_text.cc sweep.cc variables.cc
  TESTS slurm_text_test.cc sweep_test.cc
  ROOMS history ingest model
  TEST_ROOMS ingest report)
