vramfit_room(liveness
  SOURCES lifetimes.cc module_tree.cc owners.cc peaks.cc
  TESTS lifetimes_test.cc owners_test.cc peaks_test.cc
  ROOMS model)
