vramfit_room(compare
  SOURCES alignment.cc causes.cc comparison.cc places.cc sequence_diff.cc totals.cc workspaces.cc
  TESTS alignment_test.cc comparison_test.cc places_test.cc sequence_diff_test.cc totals_test.cc workspaces_test.cc
  ROOMS model)
