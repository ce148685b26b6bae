vramfit_room(ingest
  SOURCES cards.cc plan_file.cc recording.cc
  TESTS cards_test.cc plan_file_test.cc recording_test.cc
  ROOMS model)
target_compile_definitions(vramfit_ingest PRIVATE TOML_HEADER_ONLY=1)
