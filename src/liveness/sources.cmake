vramfit_room(liveness
  SOURCES growing_lines.cc growth.cc lifetimes.cc module_branches.cc module_graph.cc module_names.cc module_table.cc module_trace.cc module_tree.cc owners.cc passes.cc peaks.cc rise.cc step_memory.cc step_series.cc whole_growth.cc
  TESTS block_owner_test.cc growth_test.cc lifetimes_test.cc module_branches_test.cc module_graph_test.cc module_table_test.cc owners_test.cc passes_test.cc peaks_test.cc rise_test.cc step_memory_test.cc
  ROOMS model
  TEST_ROOMS ingest)
