vramfit_room(app
  SOURCES catalogue.cc check/block_stream.cc check/check.cc check/compared_run.cc check/learned_workspaces.cc
    check/partner.cc check/recorded.cc check/snapshot_stream.cc doctor.cc equivalence.cc fit/answer.cc
    fit/equivalence.cc fit/fit.cc fit/measurement.cc fit/prover.cc fit/request.cc fit/span.cc fit/summary.cc floor.cc
    measured_overhead.cc init.cc init_checks.cc replay.cc tensor_distance.cc verify.cc
  TESTS catalogue_test.cc equivalence_test.cc fit/fit_test.cc fit/measurement_test.cc fit/prover_test.cc
    fit/span_test.cc floor_test.cc measured_overhead_test.cc init_checks_test.cc verify_test.cc
  ROOMS allocator compare devices doctor facts history ingest job liveness model plan probe report watch
  TEST_ROOMS verify)
