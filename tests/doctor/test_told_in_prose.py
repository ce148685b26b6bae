"""What people write around logs: growth, who fills the card, what cured it; and what only sounds like a failure."""

from __future__ import annotations

from pathlib import Path

import pytest
from doctor_calls import Doctor

OOM = "RuntimeError: CUDA error: out of memory\n"

CAUSES = {
    "growth_beside_a_log": (
        "leak_growth",
        "epoch 4 loss 0.31\nHi all, each epoch the VRAM usage of my trainer is half a GB higher and it never goes "
        "down again, so it keeps growing until the run stops.\n",
    ),
    "a_layout_that_is_mostly_padding": (
        "capacity_exceeded",
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.10G of 15.75G hbm. "
        "Exceeded hbm capacity by 4.35G.\n\n  1. Size: 16.00G\n     Shape: f32[4194304,16,2]{2,1,0:T(8,128)}\n"
        "     Unpadded size: 512.00M\n     Extra memory due to padding: 15.50G (32.0x expansion)\n",
    ),
    "growth_without_the_word": ("leak_growth", "Every forward pass leaves 12 MB behind on the card. step 3 loss 0.9\n"),
    "growth_of_the_host": ("host_ram_oom", "step 1 loss 3\nRAM climbs steadily until the whole server hangs.\n"),
    "growth_of_the_computers_own_memory": (
        "host_ram_oom",
        "The memory of my computer goes up with each epoch and in the end it stands still.\n",
    ),
    "a_denial_in_parentheses": (
        "host_ram_oom",
        "The memory of the computer (system, not graphics) creeps up slowly until nothing is left. Is a leak known?\n",
    ),
    "growth_until_the_system_ends_it": (
        "host_ram_oom",
        "Memory usage keeps growing through the epochs, and then the training just gets killed.\n",
    ),
    "growth_of_the_host_before_an_evaluation_fails": (
        "host_ram_oom",
        "Training is fine, but the validation fails with an out of memory error at epoch 30. System RAM rises steadily "
        "with each epoch.\n",
    ),
    "a_sum_of_losses": (
        "graph_retained",
        "The memory goes up with each iteration until OOM.\n\n    running_loss += loss\n\nWhat is wrong here?\n",
    ),
    "numbers_of_a_loop": (
        "leak_growth",
        "print(i, torch.cuda.memory_allocated())\n"
        + "".join(f"{i} {400_000_000 + 310_000_000 * i}\n" for i in range(9)),
    ),
    "sizes_of_a_loop": ("leak_growth", "".join(f"[{i}] used {1.5 + 0.4 * i:.2f}GB loss=0.4\n" for i in range(9))),
    "workers_on_one_card": (
        "extra_contexts",
        "Out of memory error on GPU 0. Cannot allocate 30.5MB memory on GPU 0, available memory is only 9.1MB.\n"
        "Please check whether there is any other process using GPU 0.\n\n"
        "> I start 9 uvicorn workers, and all of them put the model on gpu 0.\n",
    ),
    "a_process_that_was_left": (
        "other_process",
        OOM + "\nIt turned out that a zombie process of last night's run still occupied the GPU.\n",
    ),
    "another_card_was_meant": (
        "wrong_device",
        "I pass cuda:1 everywhere, that card is idle, and GPU 0 is used by another user's job.\n" + OOM,
    ),
    "unpinned_it_works": ("pinned_host_limit", OOM + "\nWith pin_memory=False in the loader it works.\n"),
    "only_when_resumed": (
        "checkpoint_kept_on_gpu",
        "torch.cuda.OutOfMemoryError: CUDA out of memory.\n\nIt fails when I resume from a checkpoint. Training from "
        "scratch works fine.\n",
    ),
    "only_the_evaluation": (
        "eval_stage_blowup",
        "torch.cuda.OutOfMemoryError: CUDA out of memory.\n\nAll training epochs are fine, the validation crashes.\n",
    ),
    "windows_pages_to_the_host": (
        "windows_shared_memory",
        "With the second LoRA it is at 31 s/it while the task manager shows 6 GB of shared memory for it.\n",
    ),
    "the_call_that_pins": (
        "pinned_host_limit",
        "Error while calling cudaMallocHost(&block, bytes) in file gpu.cpp:91. code: 2, reason: out of memory\n",
    ),
    "shared_memory_that_is_full": (
        "shm_exhausted",
        "The loader's children end with SIGBUS after a minute.\n\n"
        "Filesystem      Size  Used Avail Use% Mounted on\nshm              64M   64M     0 100% /dev/shm\n",
    ),
    "what_was_deleted": (
        "refs_kept_across_steps",
        "`del logits` behind the step brings the peak from 9 to 5 GB and there is no more CUDA out of memory.\n",
    ),
    "only_a_new_process_has_room": (
        "exception_holds_tensors",
        "torch.cuda.OutOfMemoryError: CUDA out of memory.\n\nEach smaller batch fails too after that, only restarting "
        "the notebook's kernel helps.\n",
    ),
    "only_the_longest_samples": (
        "variable_length_spike",
        "CUDA out of memory. Tried to allocate 180.00 MiB (GPU 0; 10.92 GiB total capacity; 9.20 GiB already "
        "allocated; 120.00 MiB free; 10.15 GiB reserved in total by PyTorch)\n\nIt only fails on the longest texts.\n",
    ),
    "what_was_missing": (
        "no_grad_missing",
        "RuntimeError: CUDA out of memory. Tried to allocate 98.00 MiB (GPU 0; 7.79 GiB total capacity; 6.90 GiB "
        "already allocated; 40.12 MiB free; 7.01 GiB reserved in total by PyTorch)\n\n"
        "EDIT: it was missing torch.no_grad() around the loop.\n",
    ),
    "a_share_of_a_card": (
        "mig_or_partition",
        "[HAMI-core ERROR (pid:12 thread=9 allocator.c:51)]: Device 0 OOM 4400000000 / 4294967296\n" + OOM,
    ),
    "what_solved_it": (
        "checkpoint_kept_on_gpu",
        "When I resume, the first card runs out of memory. It can be solved by giving map_location to the load.\n",
    ),
    "what_was_left_out": (
        "preds_accumulated_on_gpu",
        OOM + "\nAs soon as I leave compute_metrics out of the trainer the evaluation works.\n",
    ),
    "one_optimizer_and_not_the_other": (
        "optimizer_state_first_step",
        "SGD trains with a batch of 8, but Adam gives an OOM error with the same batch.\n" + OOM,
    ),
    "what_was_set_larger": (
        "capacity_exceeded",
        "If I set the batch size to a larger value than 12, I get this error:\n\n"
        "CUDA out of memory. Tried to allocate 180.00 MiB (GPU 0; 10.92 GiB total capacity; 9.20 GiB already "
        "allocated; 120.00 MiB free; 10.15 GiB reserved in total by PyTorch)\n",
    ),
    "a_cache_of_less_than_nothing": (
        "serving_overcommit",
        "INFO worker.py:267] model weights take 14.20GiB; the rest of the memory reserved for KV Cache is -0.61GiB.\n",
    ),
    "a_sum_without_blanks": (
        "graph_retained",
        "GPU memory keeps growing with every step until it runs out.\n\nepoch_loss+=loss\n",
    ),
    "a_neighbour_by_any_name": (
        "other_process",
        OOM + "\nSomebody's notebook of last month still sits on the only 3090.\n",
    ),
    "nonsense_of_another_vendor": (
        "size_computation_bug",
        "E xla/stream_executor/rocm/rocm_driver.cc:612] failed to allocate 99.50TiB (109401406963712 bytes) from "
        "device: HIP_ERROR_OutOfMemory\n",
    ),
    "a_pool_without_its_module": (
        "pool_growth_policy",
        "OutOfMemoryError: Out of memory allocating 9,663,676,416 bytes (allocated so far: 15,032,385,536 bytes).\n",
    ),
    "killed_and_nothing_else": (
        "host_ram_oom",
        "Once the tokenizer is through the whole set my script just gets killed, three times in a row.\n",
    ),
    "out_of_the_hosts_memory": (
        "host_ram_oom",
        "The notebook dies while the weights are loaded: it runs out of system RAM.\n",
    ),
    "loading_alone": (
        "checkpoint_kept_on_gpu",
        "Loading the state_dict of the large critic gives an OOM on rank 0 and nowhere else.\n",
    ),
    "memory_that_nobody_holds": (
        "driver_overhead",
        "I stopped the trainer. The memory of the card is still occupied and nvidia-smi does not show any process.\n",
    ),
    "the_first_card_of_several": (
        "extra_contexts",
        "CUDA out of memory with four cards. cuda:0 always uses 3 GB more than the others.\n",
    ),
    "one_failure_after_the_other": (
        "exception_holds_tensors",
        "After one out of memory error every next call fails as well, whatever its batch.\n",
    ),
    "a_context_that_is_too_long": (
        "serving_overcommit",
        "llama-server with a 64k context does not fit into my 24 GB, it runs out of memory at its start.\n",
    ),
    "a_cache_above_the_weights": (
        "serving_overcommit",
        "load_tensors:        CUDA0 model buffer size =  2100.00 MiB\n"
        "llama_kv_cache:      CUDA0 KV buffer size = 30720.00 MiB\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.00 MiB on device 0: cudaMalloc failed: out of "
        "memory\n",
    ),
    "a_cache_for_many_requests": (
        "serving_overcommit",
        "llama_context: n_ctx_per_seq (8192) < n_ctx_train (32768) -- the full capacity will not be utilized\n"
        "llama_kv_cache_unified: kv_size = 262144, type_k = 'f16', type_v = 'f16', n_layer = 32\n"
        "llama_kv_cache_unified:      CUDA0 KV buffer size = 32768.00 MiB\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.00 MiB on device 0: cudaMalloc failed: out of "
        "memory\n",
    ),
    "weights_above_the_cache": (
        "placement_no_headroom",
        "load_tensors:        CUDA0 model buffer size = 30720.00 MiB\n"
        "llama_kv_cache:      CUDA0 KV buffer size =  2100.00 MiB\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.00 MiB on device 0: cudaMalloc failed: out of "
        "memory\n",
    ),
    "a_card_that_is_small": (
        "capacity_exceeded",
        "F0101 10:00:00.1 7 blob.cpp:12] Check failed: error == cudaSuccess (2 vs. 0)  out of memory\n\n"
        "My card is a GeForce GT 730 with 2 GB.\n",
    ),
    "the_smallest_batch": (
        "capacity_exceeded",
        "torch.OutOfMemoryError: CUDA out of memory.\n\nIt still happens with a batch size of 1.\n",
    ),
    "a_decoder": (
        "capacity_exceeded",
        "All steps of the sampler pass and then the VAE decode runs out of memory on my 8 GB.\n",
    ),
    "a_kill_in_the_evaluation": (
        "host_ram_oom",
        "Train epochs work. The validation fails: the process ends with exit code 137 and no error of Python.\n",
    ),
    "a_leak_that_grows_in_the_evaluation": (
        "leak_growth|preds_accumulated_on_gpu",  # it does not tell what is kept
        "Training is fine. During the validation the GPU memory leaks a bit with every batch until it is out.\n",
    ),
    "what_each_process_takes": (
        "extra_contexts",
        "CUDA out of memory. 5 extra processes sit on cuda:0, each takes about 480 MB of it.\n",
    ),
    "a_user_interface_that_says_so": (
        "capacity_exceeded",
        "torch.OutOfMemoryError: Allocation on device\n\nGot an OOM, unloading all loaded models.\n",
    ),
    "a_share_of_jax": (
        "pool_growth_policy",
        "The convolutions run out of memory in JAX. It was cured by XLA_PYTHON_CLIENT_MEM_FRACTION=0.6 in the shell.\n",
    ),
    "what_was_left_in_shared_memory": (
        "shm_exhausted",
        "Each new start crashes the kernel of the notebook. A segment of the first run is still there in /dev/shm.\n",
    ),
    "a_block_of_an_arc": (
        "single_huge_allocation",
        "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 15.91 "
        "GiB.\n",
    ),
    "a_card_of_one_gigabyte": (
        "capacity_exceeded",
        "RuntimeError: CUDA out of memory. Tried to allocate 50.00 MiB (GPU 0; 1024.00 MiB total capacity; 401.10 MiB "
        "already allocated; 0 bytes free; 440.00 MiB reserved in total by PyTorch)\n",
    ),
    "an_allocator_that_nobody_knows": (
        "library_buffers",
        "SimDeviceBufferAllocator failed to allocate 1073741824 bytes\n",
    ),
}

NOT_SAID_WELL = {
    "epochs_in_prose_are_no_log": "The four long ones flatten the box at epoch 3, and nothing else is said.\n",
    "the_shells_last_command": "Terminé d'un coup, echo $? -> 137, le GPU n'y est pour rien.\n",
    "code_within_a_sentence": "I call loss.backward(create_graph=True) and after an hour nothing moves any longer.\n",
    "what_is_said_beside_a_question": "Two workers take three times the memory of one. Has anybody seen this?\n",
    "what_is_said_behind_a_question": (
        "Has anybody seen this? The workers share one big dict, and 8 of them come to 40 GB of memory in one epoch.\n"
    ),
    "what_the_writer_asks_about": "My run gets nothing at all of the 3090 and gives up. Can I do anything about it?\n",
    "a_launcher_that_ends_its_processes": (
        "[2025-01-02 10:00:00,120] [INFO] [utils.py:799:see_memory_usage] used = 26.4 GB, percent = 84.6%\n"
        "[2025-01-02 10:00:05,310] [INFO] [launch.py:315:sigkill_handler] Killing subprocess 4711\n"
    ),
    "a_cure_that_was_none": OOM + "\nSwitching expandable_segments off made no difference.\n",
    "shared_memory_that_is_full": "Filesystem Size Used Avail Use% Mounted on\nshm 64M 64M 0 100% /dev/shm\n",
    "a_card_at_the_brim": "step 4 loss 0.2\nMy VRAM is at 15.8/16 GB and each step takes a minute.\n",
    "a_machine_that_freezes": "epoch 1 loss 0.8\nThen the whole desktop freezes and I have to restart it.\n",
    "a_second_start": "JAX takes too much memory: a second run can't start on the same GPU.\nepoch 1 loss 0.4\n",
    "a_cure_beside_a_word_of_pages": "It was fixed with --shm-size=8g, as the documentation says.\n",
    "a_title_that_is_underlined": "Leak in the sampler\n===================\n\nGPU memory climbs with every call.\n",
    "a_reason_that_is_asked_for": "epoch 2 loss 0.4\nWhy does memory usage double in the second epoch?\n",
}

WELL = {
    "a_chapter": (
        "The kernel ends a process when memory is exhausted. In a cluster a container that goes over its limit is "
        "ended too, with OOMKilled and exit code 137. In this chapter we set limits.\n"
    ),
    "it_is_normal_in_chinese": "显存会逐渐增加到18G并稳定下来，这不是内存泄漏，属于正常现象\n",
    "a_warning_that_is_none": "[W] Skipping tactic 2 due to insufficient memory.\n\nThat is harmless. It works.\n",
    "praise": "With this release there is no VRAM leak anymore, thanks!\n",
    "a_daemons_error": "docker: Error response from daemon: pull access denied for trainer, it does not exist.\n",
    "a_question": "How much VRAM does it take to fine-tune the small model? Is a card with 12 GB enough?\n",
    "a_wish": "When a job is killed by the OOM killer, the scheduler should say so.\n",
    "a_change": "# fix: catch OOM in the exporter\n\n## What changed\n- Handle `CUDA out of memory` by a retry.\n",
    "a_changelog": "v3.1\n- Fixed a memory leak in the prefetcher\n- Avoid running out of memory in the export\n",
    "a_sample_of_a_message": (
        "## Summary\nUsers see a bare word.\n\nThe message will now read\n\n    Job 7 was killed by the OOM killer\n"
    ),
    "a_worker_with_an_exception": (
        "RuntimeError: DataLoader worker (pid 77) exited unexpectedly with exit code 1.\n"
        "ImportError: cannot import name 'imread'\n"
    ),
    "level_memory_in_prose": "epoch 9 loss 0.1\nVRAM stays at 6.1 GB from the first epoch to the last.\n",
    "growth_that_was_denied": (
        "I thought that memory grows with each run?\n\nI measured it again: there is no increase, it is stable.\n"
    ),
    "a_tactic_that_is_skipped": (
        "[W] Skipping tactic 3 due to insufficient memory on requested size of 8589934592\n[I] Engine built in 9 s.\n"
    ),
}


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_that_is_told(doctor: Doctor, tmp_path: Path, name: str) -> None:
    label, text = CAUSES[name]
    post = tmp_path / "post.txt"
    post.write_text(text)
    told = doctor.look(str(post)).result
    assert told["findings"][0]["label"] in label.split("|"), told["verdict"]


def test_a_librarys_error_hides_no_full_card_where_memory_is_said_to_be_well(doctor: Doctor, tmp_path: Path) -> None:
    error = "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`\n"
    confidences = []
    for told in ("", "\nThe GPU memory stays below 60 % all the time, so it is no OOM.\n"):
        post = tmp_path / "post.txt"
        post.write_text(error + told)
        first = doctor.look(str(post)).result["findings"][0]
        assert first["label"] == "masked_oom"
        confidences.append(first["confidence"])
    assert confidences[0] >= 0.7 and confidences[1] < 0.5


@pytest.mark.parametrize("name", NOT_SAID_WELL)
def test_trouble_that_is_told_is_never_well(doctor: Doctor, tmp_path: Path, name: str) -> None:
    post = tmp_path / "post.txt"
    post.write_text(NOT_SAID_WELL[name])
    assert doctor.look(str(post)).exit_code == 1


@pytest.mark.parametrize("name", WELL)
def test_what_only_speaks_of_failures_is_accused_of_none(doctor: Doctor, tmp_path: Path, name: str) -> None:
    post = tmp_path / "post.txt"
    post.write_text(WELL[name])
    done = doctor.look(str(post))
    assert done.exit_code == 0 and done.result["findings"] == [], done.result["verdict"]


def test_a_question_is_told_as_one(doctor: Doctor, tmp_path: Path) -> None:
    post = tmp_path / "post.txt"
    post.write_text(WELL["a_question"])
    assert "this is a question" in doctor.look(str(post)).result["verdict"]


def test_a_limit_of_open_files_is_told_with_what_raises_it(doctor: Doctor, tmp_path: Path) -> None:
    post = tmp_path / "post.txt"
    post.write_text("OSError: [Errno 24] Too many open files: '/data/img_000912.png'\n")
    verdict = doctor.look(str(post)).result["verdict"]
    assert verdict.startswith("No trouble with memory") and "ulimit -n" in verdict, verdict


def test_growth_of_tensorflow_is_not_told_of_losses_of_torch(doctor: Doctor, tmp_path: Path) -> None:
    post = tmp_path / "post.txt"
    post.write_text("With Keras the memory climbs with every model of the grid search until the machine swaps.\n")
    first = doctor.look(str(post)).result["findings"][0]
    assert first["label"] in ("leak_growth", "host_ram_oom")
    commands = [fix["command"] or "" for fix in first["fixes"]]
    assert any("clear_session" in one for one in commands) and not any(".item()" in one for one in commands), commands


def test_growth_of_an_evaluation_is_told_of_gradients_and_results(doctor: Doctor, tmp_path: Path) -> None:
    post = tmp_path / "post.txt"
    post.write_text("The GPU memory goes up with each batch of the validation until nothing is left.\n")
    found = doctor.look(str(post)).result["findings"]
    assert {"leak_growth", "no_grad_missing", "preds_accumulated_on_gpu"} <= {one["label"] for one in found}
    assert "without gradients" in found[0]["fixes"][0]["what"]
    post.write_text("The VRAM climbs with every batch of the evaluation, although it is all under torch.no_grad().\n")
    found = doctor.look(str(post)).result["findings"]
    assert not any("no_grad():" in (fix["command"] or "") for one in found for fix in one["fixes"])
    assert any("cpu()" in (fix["command"] or "") for fix in found[0]["fixes"])
