vramfit_room(watch
  SOURCES alert.cc book.cc bytes.cc command.cc peaks.cc recording.cc samples.cc source.cc watch.cc
  TESTS alert_test.cc book_test.cc peaks_test.cc recording_test.cc
  ROOMS history job model probe
  LIBS Threads::Threads
  TEST_ROOMS ingest report)
