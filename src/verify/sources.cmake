vramfit_room(verify
  SOURCES fit.cc peaks.cc placement.cc
  TESTS verify_test.cc
  ROOMS model)
