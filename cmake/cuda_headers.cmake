# Where each CUDA major's public headers lie: VRAMFIT_CUDA13_INCLUDE and its like. They are only compiled
# against, never shipped; tools/fetch_cuda_headers puts them once into the user's cache, so that all builds compile
# with the same flags, or into the build folder where there is no cache to write to.
if(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(vramfit_cache "$ENV{XDG_CACHE_HOME}/vramfit/headers")
else()
  set(vramfit_cache "$ENV{HOME}/.cache/vramfit/headers")
endif()
if(NOT EXISTS "${vramfit_cache}/cu${VRAMFIT_NEWEST_CUDA}/cuda.h")
  execute_process(COMMAND "${CMAKE_COMMAND}" -E make_directory "${vramfit_cache}" RESULT_VARIABLE vramfit_no_cache
                  OUTPUT_QUIET ERROR_QUIET)
  if(vramfit_no_cache)
    set(vramfit_cache "${CMAKE_BINARY_DIR}/headers")
  endif()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(vramfit_major IN LISTS VRAMFIT_CUDA_MAJORS)
  set(vramfit_include "VRAMFIT_CUDA${vramfit_major}_INCLUDE")
  set(${vramfit_include} "${vramfit_cache}/cu${vramfit_major}" CACHE PATH "CUDA ${vramfit_major} runtime headers")
  if(NOT EXISTS "${${vramfit_include}}/cuda.h")
    # A kept build folder may name the cache of another home.
    set(${vramfit_include} "${vramfit_cache}/cu${vramfit_major}" CACHE PATH "CUDA ${vramfit_major} runtime headers" FORCE)
    execute_process(COMMAND "${Python3_EXECUTABLE}" "${CMAKE_SOURCE_DIR}/tools/fetch_cuda_headers" "${vramfit_cache}"
                    COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
