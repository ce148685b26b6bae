vramfit_room(grammar
  SOURCES complete.cc grammar.cc
  TESTS complete_test.cc grammar_test.cc
  ROOMS base)
