vramfit_room(devices
  SOURCES card_names.cc catalogue.cc mig.cc overhead.cc operator_time.cc other_makers.cc time_figures.cc time_model.cc
  TESTS card_names_test.cc catalogue_test.cc mig_test.cc operator_time_test.cc overhead_test.cc time_model_test.cc
  ROOMS model)
