vramfit_room(plan
  SOURCES block_levels.cc cause.cc checkpointing.cc forecast.cc job_builder.cc job_notes.cc moments.cc plan_check.cc promise.cc step_work.cc
    search/candidate.cc search/search.cc
    techniques/allocator.cc techniques/autocast.cc techniques/checkpoint.cc techniques/effective_batch.cc
    techniques/empty_cache.cc techniques/gather_on_cpu.cc techniques/micro_batch.cc techniques/no_grad_validation.cc techniques/optimizer.cc
    techniques/registry.cc techniques/resize_input.cc techniques/validation_batch.cc
  TESTS cause_test.cc checkpointing_test.cc job_builder_test.cc plan_check_test.cc promise_test.cc search/search_test.cc techniques/techniques_test.cc
  ROOMS devices liveness model
  TEST_ROOMS ingest)
