vramfit_room(estimate
  SOURCES estimate.cc transformer.cc
  TESTS estimate_test.cc
  ROOMS devices model)
