vramfit_room(views
  SOURCES confidential.cc export.cc export_run.cc export_snapshot.cc export_watch.cc flames.cc report.cc svg_raster.cc
    sweep_facts.cc trace/build.cc trace/curve.cc trace/history.cc trace/stacks.cc trace/stops.cc trace/tables.cc
  TESTS export_test.cc export_watch_test.cc flames_test.cc report_test.cc stored_diagnosis_test.cc stored_modules_test.cc
    stored_result_test.cc stored_sweep_test.cc trace/build_test.cc trace/history_test.cc ../report/testing/schema_check.cc
  ROOMS allocator history ingest model report watch
  TEST_ROOMS ingest)
