vramfit_room(isolate
  SOURCES counters.cc descriptors.cc inherited.cc job_layer.cc kept_files.cc layer.cc layer_tree.cc lockdown.cc mount_calls.cc mount_table.cc network.cc shared_memory.cc spec.cc upper_tree.cc watch.cc
    supervised/calls.cc supervised/change_calls.cc supervised/entry_calls.cc supervised/filter.cc supervised/look_calls.cc supervised/plain_folders.cc supervised/services.cc supervised/session.cc supervised/socket_calls.cc supervised/supervisor.cc supervised/target.cc supervised/union_tree.cc
  TESTS counters_test.cc job_layer_test.cc mount_table_test.cc spec_test.cc supervised/plain_folders_test.cc supervised/services_test.cc
  ROOMS base)

# For the warm process, which enters layers in forks of itself.
add_library(vramfit_layer SHARED isolate/interface.cc)
vramfit_target(vramfit_layer)
target_link_libraries(vramfit_layer PRIVATE vramfit_isolate)
set(exports "${CMAKE_CURRENT_SOURCE_DIR}/isolate/exports.map")
target_link_options(vramfit_layer PRIVATE "-Wl,--version-script=${exports}")
set_target_properties(vramfit_layer PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${VRAMFIT_STAGE}/lib" LINK_DEPENDS "${exports}")
if(NOT VRAMFIT_SANITIZE)
  target_link_options(vramfit_layer PRIVATE -static-libstdc++ -static-libgcc)
endif()

if(VRAMFIT_TESTS)
  add_executable(vramfit_layer_tool isolate/testing/layer_tool.cc)
  vramfit_target(vramfit_layer_tool)
  target_link_libraries(vramfit_layer_tool PRIVATE vramfit_isolate)
  set_target_properties(vramfit_layer_tool PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
endif()
