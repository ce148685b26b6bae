vramfit_room(report
  SOURCES doctor_json.cc doctor_text.cc fit_json.cc fit_text.cc gpus.cc history_json.cc history_text.cc layout.cc replay_json.cc replay_text.cc run_json.cc run_text.cc sweep_json.cc sweep_text.cc watch_csv.cc watch_json.cc watch_metrics.cc watch_peaks.cc watch_time.cc runtime_evidence_json.cc
  TESTS fit_text_test.cc layout_test.cc run_json_test.cc run_text_test.cc watch_metrics_test.cc testing/schema_check.cc
  ROOMS model)
