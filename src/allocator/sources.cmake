vramfit_room(allocator
  SOURCES attribution.cc card_device.cc free_list.cc invariants.cc linux_device.cc oom.cc pinned.cc recorded_state.cc replay.cc replay_program.cc rules.cc search.cc settings.cc
    simulator.cc simulator_adopt.cc simulator_events.cc
    simulator_expandable.cc simulator_pools.cc simulator_segments.cc statistics.cc trace.cc
  TESTS card_device_test.cc free_list_test.cc linux_device_test.cc oom_test.cc pinned_test.cc placement_test.cc recorded_state_test.cc replay_test.cc rules_test.cc search_test.cc
    settings_test.cc simulator_test.cc
  TEST_ROOMS verify
  ROOMS model)
if(VRAMFIT_TESTS)
  add_executable(vramfit_allocator_play allocator/testing/play.cc)
  vramfit_target(vramfit_allocator_play)
  target_link_libraries(vramfit_allocator_play PRIVATE vramfit_allocator)
  set_target_properties(vramfit_allocator_play PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tools")
endif()
