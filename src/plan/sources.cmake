vramfit_room(plan
  SOURCES advice.cc floor_proof.cc cause.cc checkpointing.cc evaluation.cc forecast.cc hardware.cc measured_shares.cc plan_check.cc promise.cc setting_check.cc several_cards.cc
    recompute/bound.cc recompute/played_peak.cc recompute/repeat_sets.cc recompute/solver.cc recompute/step_peak.cc
    search/candidate.cc search/front.cc search/largest_batch.cc search/open_candidates.cc search/predicted_needs.cc
    search/search.cc search/trials.cc
    stream/accumulation.cc stream/asked.cc stream/between.cc stream/last_uses.cc stream/module_runs.cc stream/offloads.cc stream/player.cc stream/repeats.cc stream/reshape.cc stream/returns.cc stream/spliced.cc stream/weight_copies.cc stream/without_graph.cc
    techniques/allocator.cc techniques/attention.cc techniques/autocast.cc techniques/checkpoint.cc techniques/effective_batch.cc
    techniques/chunked_loss.cc techniques/empty_cache.cc techniques/gather_on_cpu.cc techniques/half_evaluation.cc techniques/half_weights.cc techniques/int8_weights.cc techniques/lora.cc techniques/memory_budget.cc techniques/micro_batch.cc
    techniques/no_grad_validation.cc techniques/offload_activations.cc techniques/offload_optimizer.cc techniques/offload_weights.cc techniques/optimizer.cc techniques/release_gradients.cc techniques/registry.cc techniques/resize_input.cc techniques/host_transforms.cc techniques/prune.cc techniques/smaller_model.cc techniques/sparse_embeddings.cc techniques/split_forward.cc techniques/int4_weights.cc techniques/half_teacher.cc techniques/tiles.cc
    techniques/split_evaluation.cc techniques/validation_batch.cc techniques/zero_grad_set_to_none.cc forecast_bounds.cc forecast_error.cc
  TESTS advice_test.cc floor_proof_test.cc cause_test.cc checkpointing_test.cc hardware_test.cc plan_check_test.cc promise_test.cc several_cards_test.cc recompute/played_peak_test.cc recompute/repeat_sets_test.cc recompute/solver_test.cc recompute/step_peak_test.cc search/candidate_test.cc search/front_test.cc search/largest_batch_test.cc search/search_test.cc stream/accumulation_test.cc stream/between_test.cc stream/last_uses_test.cc stream/module_runs_test.cc stream/player_test.cc stream/reshape_test.cc stream/returns_test.cc stream/spliced_test.cc stream/weight_copies_test.cc stream/without_graph_test.cc forecast_bounds_test.cc forecast_error_test.cc forecast_test.cc
    techniques/allocator_test.cc techniques/attention_test.cc techniques/autocast_test.cc techniques/checkpoint_test.cc
    techniques/chunked_loss_test.cc techniques/effective_batch_test.cc techniques/half_evaluation_test.cc
    techniques/half_teacher_test.cc techniques/half_weights_test.cc techniques/host_transforms_test.cc
    techniques/int4_weights_test.cc techniques/int8_weights_test.cc techniques/lora_test.cc
    techniques/memory_budget_test.cc techniques/micro_batch_test.cc techniques/no_grad_validation_test.cc techniques/offload_activations_test.cc
    techniques/offload_optimizer_test.cc techniques/offload_weights_test.cc techniques/optimizer_test.cc techniques/prune_test.cc
    techniques/release_gradients_test.cc techniques/resize_input_test.cc techniques/smaller_model_test.cc
    techniques/sparse_embeddings_test.cc techniques/split_evaluation_test.cc techniques/split_forward_test.cc techniques/tiles_test.cc techniques/validation_batch_test.cc
    techniques/zero_grad_set_to_none_test.cc techniques/techniques_test.cc
  ROOMS allocator devices model
  TEST_ROOMS ingest)
