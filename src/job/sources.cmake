vramfit_room(job
  SOURCES another_try.cc assemble.cc borderline.cc child_environment.cc cudnn_source.cc environment.cc file_layer.cc
    installation.cc interpreter.cc job_run.cc kept_environment.cc learned.cc missing_module.cc orphaned_jobs.cc offline.cc platforms.cc
    python_command.cc real_card.cc run.cc run_on.cc session.cc so_far.cc torch_choice.cc torch_releases.cc torchless.cc verdict.cc warm_runner.cc
    zygote.cc
  TESTS another_try_test.cc assemble_test.cc borderline_test.cc child_environment_test.cc cudnn_source_test.cc
    environment_test.cc file_layer_test.cc installation_test.cc interpreter_test.cc learned_test.cc
    orphaned_jobs_test.cc offline_test.cc platforms_test.cc python_command_test.cc real_card_test.cc run_on_test.cc run_test.cc session_test.cc
    testing/fake_python.cc torch_releases_test.cc torchless_test.cc verdict_test.cc zygote_test.cc
  ROOMS devices facts ingest isolate liveness model plan probe store
  TEST_ROOMS verify)
