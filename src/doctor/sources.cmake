vramfit_room(doctor
  SOURCES all_clear.cc at_failure.cc checks.cc diagnose.cc draft.cc failure.cc handled.cc host_series.cc in_force.cc outside_pytorch.cc holders.cc kept.cc last_line.cc launcher_lines.cc leak.cc likeness.cc likeness_finding.cc memory_series.cc not_run.cc printed_shape.cc ranks.cc registry.cc remedies.cc scene.cc
    sizes.cc snapshot_facts.cc
    stack.cc whereabouts.cc causes/allocator_config_bug.cc causes/attention_quadratic.cc causes/capacity_exceeded.cc
    causes/checkpoint_kept_on_gpu.cc causes/cudnn_workspace.cc causes/data_dependent_blowup.cc causes/driver_overhead.cc
    causes/ema_or_copy.cc causes/eval_stage_blowup.cc causes/exception_holds_tensors.cc causes/extra_contexts.cc
    causes/fraction_limit.cc causes/fragmentation.cc causes/free_but_failed.cc causes/gpu_augmentation.cc
    causes/graph_retained.cc causes/host_ram_oom.cc causes/leak_growth.cc causes/library_buffers.cc
    causes/loader_on_gpu.cc causes/logits_vocab_blowup.cc causes/masked_oom.cc causes/mig_or_partition.cc
    causes/needless_copies.cc causes/no_grad_missing.cc causes/optimizer_state_first_step.cc causes/other_process.cc
    causes/pinned_host_limit.cc causes/placement_no_headroom.cc causes/pool_growth_policy.cc
    causes/preds_accumulated_on_gpu.cc causes/private_pool_cache.cc causes/refs_kept_across_steps.cc
    causes/serving_overcommit.cc causes/shm_exhausted.cc causes/single_huge_allocation.cc
    causes/size_computation_bug.cc causes/triton_shared_memory.cc causes/unknown.cc causes/variable_length_spike.cc causes/windows_shared_memory.cc
    causes/wrong_device.cc
  TESTS at_failure_test.cc diagnose_test.cc host_series_test.cc kept_test.cc last_line_test.cc likeness_finding_test.cc likeness_test.cc outside_pytorch_test.cc ranks_test.cc memory_series_test.cc not_run_test.cc scene_test.cc snapshot_failure_test.cc
  ROOMS allocator devices liveness model)

# The smallest example of each cause is data beside the program: `vramfit explain` shows it.
file(GLOB vramfit_cause_examples CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/doctor/examples/*.py"
  "${CMAKE_CURRENT_SOURCE_DIR}/doctor/examples/*.txt")
foreach(example ${vramfit_cause_examples})
  get_filename_component(name "${example}" NAME)
  configure_file("${example}" "${VRAMFIT_DATA}/causes/${name}" COPYONLY)
endforeach()

# What the doctor compares texts with (bench/doctor/learn.py): one string a line.
set(vramfit_likeness "${CMAKE_CURRENT_SOURCE_DIR}/doctor/likeness_lines.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${vramfit_likeness}")
file(READ "${vramfit_likeness}" lines)
string(REGEX REPLACE "([^\n]+)\n" "R\"~(\\1)~\",\n" lines "${lines}")
file(CONFIGURE OUTPUT "${VRAMFIT_GENERATED}/doctor/likeness_lines.inc" CONTENT "${lines}" @ONLY)
