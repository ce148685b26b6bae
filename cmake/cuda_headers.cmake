# Where each CUDA major's public headers lie: VRAMFIT_CUDA12_INCLUDE, VRAMFIT_CUDA13_INCLUDE. They are only compiled
# against, never shipped; tools/fetch_cuda_headers downloads them once into the user's cache.
if(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(vramfit_cache "$ENV{XDG_CACHE_HOME}/vramfit/headers")
else()
  set(vramfit_cache "$ENV{HOME}/.cache/vramfit/headers")
endif()
set(VRAMFIT_CUDA12_INCLUDE "${vramfit_cache}/cu12" CACHE PATH "CUDA 12 runtime headers")
set(VRAMFIT_CUDA13_INCLUDE "${vramfit_cache}/cu13" CACHE PATH "CUDA 13 runtime headers")
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(NOT EXISTS "${VRAMFIT_CUDA12_INCLUDE}/cuda.h" OR NOT EXISTS "${VRAMFIT_CUDA13_INCLUDE}/cuda.h")
  execute_process(COMMAND "${Python3_EXECUTABLE}" "${CMAKE_SOURCE_DIR}/tools/fetch_cuda_headers" "${vramfit_cache}"
                  COMMAND_ERROR_IS_FATAL ANY)
endif()
