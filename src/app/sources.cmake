vramfit_room(app
  SOURCES catalogue.cc check/block_stream.cc check/check.cc check/compared_run.cc check/learned_workspaces.cc
    check/partner.cc check/recorded.cc check/snapshot_stream.cc doctor/case_files.cc doctor/cause_pages.cc doctor/doctor.cc doctor/script_run.cc equivalence/compare_outputs.cc equivalence/compare_training.cc equivalence/equivalence.cc
    equivalence/numbers.cc equivalence/schedule.cc equivalence/tensor_distance.cc equivalence/verifier.cc estimate.cc fit/answer.cc
    fit/choice.cc fit/context.cc fit/equivalence.cc fit/first_runs.cc fit/fit.cc fit/kept_proofs.cc fit/measurement.cc fit/other_ways.cc fit/plan_row.cc fit/prover.cc fit/request.cc fit/best_plan_check.cc fit/span.cc fit/summary.cc fit/technique_runs.cc floor.cc
    measured_overhead.cc init/allocator_checks.cc init/card_checks.cc init/checks.cc init/disk_checks.cc init/host_checks.cc init/init.cc init/python_checks.cc patch.cc promised.cc replay/replay.cc replay/results.cc verify.cc
  TESTS catalogue_test.cc equivalence/equivalence_test.cc fit/fit_test.cc fit/kept_proofs_test.cc fit/measurement_test.cc fit/prover_test.cc
    fit/span_test.cc floor_test.cc measured_overhead_test.cc init/checks_test.cc patch_test.cc promised_test.cc equivalence/verifier_test.cc
  ROOMS allocator compare devices doctor estimate facts ingest job model plan probe store watch
  TEST_ROOMS verify)
if(VRAMFIT_TESTS)
  add_executable(vramfit_verify_run app/testing/verify_forecast.cc app/testing/verify_run.cc)
  vramfit_target(vramfit_verify_run)
  target_link_libraries(vramfit_verify_run PRIVATE vramfit_app vramfit_verify)
  set_target_properties(vramfit_verify_run PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tools")
  add_executable(vramfit_recompute_tool app/testing/recompute_tool.cc)
  vramfit_target(vramfit_recompute_tool)
  target_link_libraries(vramfit_recompute_tool PRIVATE vramfit_app)
  set_target_properties(vramfit_recompute_tool PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tools")
  add_executable(vramfit_vote_tool app/testing/vote_tool.cc)
  vramfit_target(vramfit_vote_tool)
  target_link_libraries(vramfit_vote_tool PRIVATE vramfit_app)
  set_target_properties(vramfit_vote_tool PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tools")
  add_executable(vramfit_forecast_tool app/testing/forecast_tool.cc app/testing/plan_stacks.cc)
  vramfit_target(vramfit_forecast_tool)
  target_link_libraries(vramfit_forecast_tool PRIVATE vramfit_app)
  set_target_properties(vramfit_forecast_tool PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tools")
endif()
