vramfit_room(probe
  SOURCES host.cc ledger_source.cc limits.cc machine_probe.cc nvml_answers.cc nvml_calls.cc nvml_processes.cc nvml_source.cc proc_text.cc process_table.cc
    recording_tail.cc
  TESTS ledger_source_test.cc nvml_source_test.cc proc_text_test.cc process_table_test.cc testing/fake_nvml.cc
  ROOMS model
  LIBS ${CMAKE_DL_LIBS} Threads::Threads)
target_include_directories(vramfit_probe PUBLIC "${CMAKE_SOURCE_DIR}")  # abi/nvml.h
