# Readers of text (ingest/text): one a format.
set(vramfit_ingest_text
  text/cursor.cc text/facts.cc text/line_text.cc text/log_prefix.cc text/oom_arithmetic.cc text/oom_message.cc
  text/printed_size.cc text/read_text.cc text/registry.cc text/text_input.cc text/trigger_words.cc)
set(vramfit_ingest_text_tests
  text/oom_message_test.cc)
vramfit_room(ingest
  SOURCES cards.cc plan_file.cc recording.cc ${vramfit_ingest_text}
  TESTS cards_test.cc plan_file_test.cc recording_test.cc ${vramfit_ingest_text_tests}
  ROOMS model)
target_compile_definitions(vramfit_ingest PRIVATE TOML_HEADER_ONLY=1)
