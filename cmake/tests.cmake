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

# One test executable from sources beside the code: vramfit_test(NAME SOURCES... LIBS...).
function(vramfit_test name)
  cmake_parse_arguments(T "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  vramfit_test_flags(${name})
  target_precompile_headers(${name} REUSE_FROM vramfit_test_headers)
  target_link_libraries(${name} PRIVATE ${T_LIBS} GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
endfunction()
