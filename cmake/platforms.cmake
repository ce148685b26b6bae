# platforms.json: which releases are known. The program has it as text; of each CUDA in it tools/cuda_facts makes what
# the build of its stand-ins needs (VRAMFIT_CUDA_MAJORS and others), or says what the entry lacks.
set(platforms "${CMAKE_SOURCE_DIR}/platforms.json")
set(cuda_facts "${CMAKE_SOURCE_DIR}/tools/cuda_facts")
file(GLOB tables "${CMAKE_SOURCE_DIR}/abi/symbols/*.cu*.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${platforms}" "${cuda_facts}"
             "${CMAKE_SOURCE_DIR}/tools/cuda_entries.py" "${CMAKE_SOURCE_DIR}/abi/symbols" ${tables})
file(READ "${platforms}" VRAMFIT_PLATFORMS)
configure_file("${CMAKE_SOURCE_DIR}/cmake/platforms_text.h.in" "${VRAMFIT_GENERATED}/job/platforms_text.h" @ONLY)
execute_process(COMMAND "${Python3_EXECUTABLE}" "${cuda_facts}" "${CMAKE_SOURCE_DIR}" "${VRAMFIT_GENERATED}"
                RESULT_VARIABLE failed ERROR_VARIABLE why)
if(failed)
  message(FATAL_ERROR "${why}")
endif()
include("${VRAMFIT_GENERATED}/cuda.cmake")
