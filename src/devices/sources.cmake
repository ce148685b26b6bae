vramfit_room(devices
  SOURCES catalogue.cc overhead.cc time_model.cc
  TESTS catalogue_test.cc overhead_test.cc time_model_test.cc
  ROOMS model)
