vramfit_room(allocator
  SOURCES card_device.cc free_list.cc invariants.cc oom.cc rules.cc settings.cc simulator.cc simulator_events.cc
    simulator_expandable.cc simulator_pools.cc simulator_segments.cc statistics.cc trace.cc
  TESTS simulator_test.cc
  ROOMS model)
