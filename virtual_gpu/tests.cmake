# Unit tests of the core, through its own interfaces and through the public ones of every CUDA major.
function(vramfit_gpu_test name)
  cmake_parse_arguments(T "" "MAJOR" "SOURCES;LIBS" ${ARGN})
  vramfit_test(${name} SOURCES ${T_SOURCES} LIBS vramfit_test_session ${T_LIBS} vramfit_virtual_gpu pthread)
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES BUILD_RPATH "${VRAMFIT_STAGE}/lib")
  if(T_MAJOR)
    target_include_directories(${name} SYSTEM PRIVATE "${VRAMFIT_CUDA${T_MAJOR}_INCLUDE}" "${CMAKE_SOURCE_DIR}/abi/shim")
    set_target_properties(${name} PROPERTIES BUILD_RPATH "${VRAMFIT_STAGE}/lib/cu${T_MAJOR};${VRAMFIT_STAGE}/lib")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS virtual_gpu TIMEOUT 60)
endfunction()

vramfit_gpu_test(virtual_gpu_ledger_test SOURCES ledger/accounts_test.cc)
vramfit_gpu_test(virtual_gpu_libraries_test SOURCES ledger/libraries_test.cc)
# Linked last, it is unloaded last of what does not need one another.
add_library(vramfit_test_last_library SHARED EXCLUDE_FROM_ALL testing/last_library.cc)
vramfit_target(vramfit_test_last_library)
target_include_directories(vramfit_test_last_library PRIVATE "${CMAKE_SOURCE_DIR}")
vramfit_gpu_test(virtual_gpu_end_test SOURCES ledger/end_test.cc)
target_link_libraries(virtual_gpu_end_test PRIVATE vramfit_test_last_library)
set_target_properties(virtual_gpu_end_test PROPERTIES ENABLE_EXPORTS ON)
vramfit_gpu_test(virtual_gpu_host_test SOURCES host/mersenne_test.cc host/mersenne.cc)
vramfit_gpu_test(virtual_gpu_late_fill_test SOURCES host/late_fill_test.cc)
vramfit_gpu_test(virtual_gpu_device_test SOURCES device/written_test.cc device/small_blocks_test.cc device/fat_binary_test.cc device/handle_set_test.cc
                                                 device/address_space_test.cc device/kernel_arguments_test.cc device/value_states_test.cc)
target_compile_definitions(virtual_gpu_device_test PRIVATE VRAMFIT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
foreach(major IN LISTS VRAMFIT_CUDA_MAJORS)
  vramfit_gpu_test(virtual_gpu_memory_cu${major}_test MAJOR ${major} SOURCES cudart/memory_test.cc
                   LIBS vramfit_cudart_cu${major} vramfit_driver_cu${major})
  vramfit_gpu_test(virtual_gpu_recorded_order_cu${major}_test MAJOR ${major} SOURCES cudart/recorded_order_test.cc
                   LIBS vramfit_cudart_cu${major} vramfit_driver_cu${major})
  set_target_properties(virtual_gpu_recorded_order_cu${major}_test PROPERTIES ENABLE_EXPORTS ON)
  vramfit_gpu_test(virtual_gpu_ipc_cu${major}_test MAJOR ${major} SOURCES cudart/ipc_test.cc
                   LIBS vramfit_cudart_cu${major} vramfit_driver_cu${major})
  vramfit_gpu_test(virtual_gpu_stream_cu${major}_test MAJOR ${major} SOURCES cudart/stream_test.cc
                   LIBS vramfit_cudart_cu${major} vramfit_driver_cu${major})
  vramfit_gpu_test(virtual_gpu_graph_cu${major}_test MAJOR ${major} SOURCES cudart/graph_test.cc
                   LIBS vramfit_cudart_cu${major} vramfit_driver_cu${major})
  vramfit_gpu_test(virtual_gpu_device_cu${major}_test MAJOR ${major} SOURCES cudart/device_test.cc
                   LIBS vramfit_cudart_cu${major} vramfit_driver_cu${major})
endforeach()
vramfit_gpu_test(virtual_gpu_driver_test MAJOR ${VRAMFIT_NEWEST_CUDA} LIBS vramfit_driver_cu${VRAMFIT_NEWEST_CUDA}
                 SOURCES driver/init_test.cc driver/physical_test.cc driver/graph_test.cc driver/globals_test.cc
                         driver/function_test.cc driver/context_test.cc)
vramfit_gpu_test(virtual_gpu_nvml_test MAJOR ${VRAMFIT_NEWEST_CUDA} SOURCES nvml/device_test.cc nvml/export_table_test.cc
                 LIBS vramfit_nvml_cu${VRAMFIT_NEWEST_CUDA})
vramfit_gpu_test(virtual_gpu_smi_test SOURCES smi/smi_test.cc smi/csv.cc smi/options.cc smi/printed.cc smi/report.cc
                 smi/table.cc smi/card.cc LIBS vramfit_nvml_cu${VRAMFIT_NEWEST_CUDA})
set_target_properties(virtual_gpu_smi_test PROPERTIES BUILD_RPATH
                      "${VRAMFIT_STAGE}/lib/cu${VRAMFIT_NEWEST_CUDA};${VRAMFIT_STAGE}/lib")
target_compile_definitions(virtual_gpu_smi_test PRIVATE VRAMFIT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
vramfit_gpu_test(virtual_gpu_nccl_test SOURCES nccl/element_test.cc nccl/element.cc nccl/mailbox_test.cc nccl/mailbox.cc)
vramfit_gpu_test(virtual_gpu_property_test SOURCES library/property_test.cc)

# Unit tests of the libraries through their exported names, for every major.
foreach(major IN LISTS VRAMFIT_CUDA_MAJORS)
  foreach(part cublas:handle_test cublaslt:layout_test cusolver:handle_test nvtx:range_test)
    string(REPLACE ":" ";" part "${part}")
    list(GET part 0 library)
    list(GET part 1 test)
    set(name "virtual_gpu_${library}_cu${major}_test")
    vramfit_gpu_test(${name} MAJOR ${major} SOURCES "${CMAKE_SOURCE_DIR}/virtual_gpu/${library}/${test}.cc"
                     LIBS vramfit_${library}_cu${major})
    target_compile_definitions(${name} PRIVATE VRAMFIT_TEST_MAJOR=${major})
  endforeach()
endforeach()
