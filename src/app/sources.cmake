vramfit_room(app
  SOURCES check/block_stream.cc check/check.cc check/compared_run.cc check/learned_workspaces.cc check/partner.cc check/recorded.cc check/snapshot_stream.cc another_try.cc init.cc init_checks.cc export.cc export_run.cc export_snapshot.cc export_watch.cc svg_raster.cc assemble.cc borderline.cc catalogue.cc
    compare.cc history.cc job_identity.cc largest_search.cc live_runs.cc run_book.cc sweep.cc sweep_files.cc sweep_history.cc sweep_local.cc
    sweep_slurm.cc sweep_variables.cc child_environment.cc cudnn_source.cc doctor.cc environment.cc file_layer.cc fit.cc fit_measurement.cc fit_prover.cc
    fit_request.cc fit_summary.cc floor.cc held_memory.cc installation.cc interpreter.cc job_run.cc kept_environment.cc offline.cc python_command.cc replay.cc
    report.cc report_confidential.cc report_result.cc run.cc session.cc report_flames.cc report_modules.cc
    report_diagnosis.cc report_sweep.cc report_trace/build.cc report_trace/curve.cc report_trace/history.cc report_trace/stacks.cc report_trace/stops.cc
    report_trace/tables.cc snapshot_line.cc torch_releases.cc verdict.cc warm_runner.cc watch.cc watch_alert.cc watch_book.cc watch_bytes.cc
    watch_command.cc watch_peaks.cc watch_recording.cc watch_samples.cc watch_source.cc zygote.cc so_far.cc fit_answer.cc fit_span.cc
    run_on.cc equivalence.cc fit_equivalence.cc learned.cc leftover_jobs.cc tensor_distance.cc torchless.cc verify.cc
  TESTS another_try_test.cc init_checks_test.cc export_test.cc assemble_test.cc borderline_test.cc catalogue_test.cc child_environment_test.cc
    cudnn_source_test.cc environment_test.cc file_layer_test.cc fit_measurement_test.cc fit_prover_test.cc fit_test.cc floor_test.cc held_memory_test.cc history_test.cc learned_test.cc leftover_jobs_test.cc sweep_test.cc
    installation_test.cc interpreter_test.cc live_runs_test.cc offline_test.cc python_command_test.cc report_flames_test.cc
    report_modules_test.cc report_diagnosis_test.cc report_sweep_test.cc report_test.cc report_trace/build_test.cc report_trace/history_test.cc
    run_test.cc session_test.cc torch_releases_test.cc verdict_test.cc watch_alert_test.cc watch_book_test.cc watch_peaks_test.cc
    watch_recording_test.cc zygote_test.cc testing/fake_python.cc fit_span_test.cc run_on_test.cc equivalence_test.cc
    torchless_test.cc verify_test.cc
  ROOMS allocator compare doctor facts ingest isolate liveness devices plan report probe store
  LIBS Threads::Threads)
