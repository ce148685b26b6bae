vramfit_room(base
  SOURCES bytes.cc clock.cc edit_distance.cc empty_terminal.cc error.cc file.cc host_memory.cc interrupt.cc job_control.cc json_text.cc nearest_word.cc out_of_memory.cc progress.cc shell_word.cc subprocess.cc temporary_file.cc
  TESTS bytes_test.cc empty_terminal_test.cc error_test.cc file_test.cc json_text_test.cc nearest_word_test.cc out_of_memory_test.cc parse_number_test.cc shell_word_test.cc subprocess_test.cc temporary_file_test.cc)
