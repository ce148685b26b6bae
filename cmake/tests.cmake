if(NOT VRAMFIT_TESTS)
  function(vramfit_test)  # the rooms name their tests in every build
  endfunction()
  return()
endif()
enable_testing()
find_package(GTest REQUIRED)

# What nearly every test includes, compiled once for all of them. A test still includes what it uses: the virtual GPU's
# and the recorder's would do without, and a header that is missing here costs time only.
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/test_headers.cc" CONTENT "")
add_library(vramfit_test_headers OBJECT "${CMAKE_BINARY_DIR}/test_headers.cc")
target_precompile_headers(vramfit_test_headers PRIVATE <gtest/gtest.h> <filesystem> <fstream> <functional> <map> <memory>
                          <optional> <set> <span> <string> <vector>)

# Tests run for seconds and are compiled for minutes: a build that is optimized optimizes them less.
function(vramfit_test_flags name)
  vramfit_target(${name})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_link_libraries(${name} PRIVATE GTest::gtest)
  if(VRAMFIT_CCACHE)
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "${VRAMFIT_CCACHE_WITH_PCH}")
  endif()
endfunction()
vramfit_test_flags(vramfit_test_headers)
# g++ uses a precompiled header only where it was compiled as the test is: as part of an executable.
set_target_properties(vramfit_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(vramfit_test_headers PRIVATE -fPIE)

# All of them, and those of one folder (src_tests, virtual_gpu_tests, recorder_tests), with no more than they need.
add_custom_target(tests)

# One test executable from sources beside the code: vramfit_test(NAME SOURCES... LIBS...).
function(vramfit_test name)
  cmake_parse_arguments(T "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${T_SOURCES})
  get_filename_component(folder "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  if(NOT TARGET ${folder}_tests)
    add_custom_target(${folder}_tests)
  endif()
  add_dependencies(${folder}_tests ${name})
  add_dependencies(tests ${name})
  vramfit_batches(${name} 12)
  vramfit_test_flags(${name})
  target_precompile_headers(${name} REUSE_FROM vramfit_test_headers)
  target_link_libraries(${name} PRIVATE ${T_LIBS} GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
endfunction()
