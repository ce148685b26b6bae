vramfit_room(verify
  SOURCES fit.cc forecast.cc peaks.cc placement.cc
  TESTS verify_test.cc
  ROOMS model)
