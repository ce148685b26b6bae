# Readers of text (ingest/text): one a format.
set(vramfit_ingest_text
  text/cursor.cc text/facts.cc text/foreign.cc text/foreign_shapes.cc text/gpu_status.cc text/gpu_tools.cc text/growth_words.cc text/host_info.cc
  text/host_kill.cc text/launch_failure.cc text/library_error.cc text/line_text.cc text/log_prefix.cc text/loop_print.cc
  text/memory_label.cc text/memory_pressure.cc text/memory_summary.cc text/memory_table.cc text/memory_trouble.cc text/nvidia_smi_csv.cc text/nvidia_smi_monitor.cc text/nvidia_smi_query.cc text/other_error.cc
  text/nvidia_smi_table.cc text/nvidia_smi_xml.cc text/oom_arithmetic.cc text/oom_clauses.cc text/oom_mention.cc text/oom_message.cc
  text/line_kind.cc text/phase_marks.cc text/post.cc text/post_marks.cc text/printed_size.cc text/program_text.cc text/sentence.cc text/told_cause.cc text/told_memory.cc text/told_signs.cc text/read_text.cc text/refused_request.cc text/registry.cc text/settings.cc text/shm_error.cc
  text/settings_text.cc text/text_input.cc text/text_looks.cc text/text_sample.cc text/trace_lines.cc text/traceback.cc text/training_line.cc text/training_log.cc text/trigger_words.cc)
set(vramfit_ingest_text_tests
  text/gpu_status_test.cc text/host_kill_test.cc text/log_prefix_test.cc text/memory_label_test.cc text/memory_trouble_test.cc text/logs_test.cc text/oom_mention_test.cc text/oom_message_test.cc text/other_error_test.cc
  text/printed_size_test.cc text/program_text_test.cc text/read_text_test.cc text/settings_text_test.cc text/told_memory_test.cc text/told_signs_test.cc text/traceback_test.cc)
# Pickles, and the memory snapshots that are pickles.
find_package(ZLIB REQUIRED)
set(vramfit_ingest_snapshot
  pickle/folder.cc pickle/heap.cc pickle/input.cc pickle/json.cc pickle/known_calls.cc pickle/machine.cc
  pickle/machine_steps.cc pickle/memo.cc pickle/numbers.cc pickle/source.cc pickle/strings.cc
  snapshot/builder.cc snapshot/builder_records.cc snapshot/builder_root.cc snapshot/container.cc snapshot/inflate.cc
  snapshot/reader.cc snapshot/trace_gap.cc snapshot/zip.cc)
set(vramfit_ingest_snapshot_tests
  pickle/machine_test.cc pickle/numbers_test.cc snapshot/container_test.cc snapshot/reader_test.cc
  snapshot/trace_gap_test.cc)
vramfit_room(ingest
  SOURCES kineto/callers.cc kineto/reader.cc cards.cc history_file.cc json_fields.cc network_files.cc note_fields.cc oom_report.cc output_seen.cc run_file.cc sweep_file.cc toml_text.cc patch_file.cc plan_file.cc stored_diagnosis.cc stored_evidence.cc stored_modules.cc stored_patch.cc stored_result.cc stored_sweep.cc recording.cc warm_answer.cc ${vramfit_ingest_snapshot} ${vramfit_ingest_text}
  TESTS kineto/reader_test.cc cards_test.cc json_fields_test.cc network_files_test.cc note_fields_test.cc output_seen_test.cc patch_file_test.cc plan_file_test.cc recording_test.cc toml_text_test.cc ${vramfit_ingest_snapshot_tests} ${vramfit_ingest_text_tests}
  ROOMS model
  LIBS nlohmann_json::nlohmann_json ZLIB::ZLIB)
target_compile_definitions(vramfit_ingest PRIVATE TOML_HEADER_ONLY=1)
if(VRAMFIT_TESTS)
  # What tests/snapshots and bench/ look at snapshots with.
  add_executable(vramfit_snapshot_dump ingest/testing/snapshot_dump.cc)
  vramfit_target(vramfit_snapshot_dump)
  target_link_libraries(vramfit_snapshot_dump PRIVATE vramfit_ingest)
  set_target_properties(vramfit_snapshot_dump PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tools")
  # What bench/ times the readers of text with.
  add_executable(vramfit_text_dump ingest/testing/text_dump.cc)
  vramfit_target(vramfit_text_dump)
  target_link_libraries(vramfit_text_dump PRIVATE vramfit_ingest)
  set_target_properties(vramfit_text_dump PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tools")
endif()
