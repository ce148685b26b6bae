vramfit_room(model
  SOURCES fit_result.cc job.cc plan.cc recording.cc run_result.cc snapshot.cc
  TESTS plan_test.cc snapshot_test.cc
  ROOMS base
  LIBS nlohmann_json::nlohmann_json)
