"""Advice is of the program that speaks, in numbers that its text gives, and never against what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doctor_calls import HERE, Doctor


def commands(doctor: Doctor, text: str) -> list[str]:
    done = doctor.look(str(HERE / "texts" / f"{text}.txt"))
    return [fix["command"] or "" for fix in done.result["findings"][0]["fixes"]]


def test_a_cache_that_is_too_small_is_not_made_smaller(doctor: Doctor) -> None:
    text = "serving_overcommit--cache_too_small_for_one_request"
    given = commands(doctor, text)
    assert "--max-model-len 20480" in given
    # 0.95 of the card is in force, so no share is advised at all.
    assert not any("--gpu-memory-utilization" in one for one in given), given
    left = doctor.look(str(HERE / "texts" / f"{text}.txt")).result["findings"][0]["not_advised"]
    assert any("95%" in one["why"] for one in left)


def test_each_server_is_told_its_own_options(doctor: Doctor) -> None:
    sglang = commands(doctor, "serving_overcommit--capture_of_sglang")
    assert "--mem-fraction-static 0.83" in sglang  # 0.88 is in force
    assert not any("--enforce-eager" in one or "--gpu-memory-utilization" in one for one in sglang)
    llama = commands(doctor, "placement_no_headroom--compute_buffers_of_llama_cpp")
    assert any(one.startswith("-c ") for one in llama)
    assert not any("--gpu-memory-utilization" in one for one in llama)


def test_a_server_that_finds_the_card_taken_is_told_what_is_left_of_it(doctor: Doctor) -> None:
    log = doctor.product.folder / "serve.log"
    log.write_text(
        "ValueError: Free memory on device (6.00/24.00 GiB) on startup is less than desired GPU memory utilization "
        "(0.9, 21.60 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
    )
    first = doctor.look(str(log)).result["findings"][0]
    assert first["label"] == "serving_overcommit"
    assert any("75%" in one["reasoning"] for one in first["evidence"])
    assert any((fix["command"] or "") == "--gpu-memory-utilization 0.23" for fix in first["fixes"])


def test_vulkan_is_told_what_makes_its_blocks_smaller(doctor: Doctor) -> None:
    for text in (
        "capacity_exceeded--a_bare_refusal_of_vulkan",
        "capacity_exceeded--vulkans_own_word",
        "single_huge_allocation--vulkans_limit_and_no_program",
    ):
        given = commands(doctor, text)
        assert any("GGML_VK_FORCE_MAX_ALLOCATION_SIZE" in one for one in given), text
        assert any(one.startswith("-c ") for one in given), text
    assert any("-ngl" in one for one in commands(doctor, "capacity_exceeded--a_bare_refusal_of_vulkan"))


def test_a_mac_is_not_told_of_cuda(doctor: Doctor) -> None:
    for text in ("capacity_exceeded--mps", "library_buffers--metal_beside_the_pools"):
        told = commands(doctor, text)
        assert told, text
        for command in told:
            assert "cuda" not in command.lower() and "vramfit" not in command and "NCCL" not in command, command


def test_a_card_of_linux_is_not_told_of_wsl(doctor: Doctor) -> None:
    assert not any("wsl" in one for one in commands(doctor, "driver_overhead--gpustat_names_nobody"))


def test_weights_that_do_not_fit_are_not_cured_by_a_smaller_batch(doctor: Doctor) -> None:
    given = commands(doctor, "capacity_exceeded--moving_the_model")
    assert any("load_in_4bit" in one for one in given), given
    assert not any("backward()" in one or "checkpoint" in one for one in given), given


def look_at(doctor: Doctor, text: str) -> dict[str, list[str]]:
    log = doctor.product.folder / "job.log"
    log.write_text(text)
    found = doctor.look(str(log)).result["findings"]
    return {one["label"]: [f"{fix['what']} {fix['command'] or ''}" for fix in one["fixes"]] for one in found}


HIP = (
    "HIP out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 23.92 GiB of which 3.00 GiB is free. "
    "Of the allocated memory 17.20 GiB is allocated by PyTorch, and 130.00 MiB is reserved by PyTorch but "
    "unallocated.\n"
)


def test_a_card_of_amd_is_told_of_its_own_tools(doctor: Doctor) -> None:
    found = look_at(doctor, HIP)
    assert not any("nvidia" in one.lower() or "CUDA_VISIBLE" in one for fixes in found.values() for one in fixes), found


def test_a_program_that_draws_pictures_is_not_told_of_backward_passes(doctor: Doctor) -> None:
    plain, pictures = look_at(doctor, HIP), look_at(doctor, "# ComfyUI Error Report\n" + HIP)
    assert any("backward()" in one for one in plain["capacity_exceeded"])
    assert not any("backward()" in one for one in pictures["capacity_exceeded"])
    assert any("--lowvram" in one for one in pictures["capacity_exceeded"])


def test_who_is_killed_while_reading_weights_is_told_about_weights(doctor: Doctor) -> None:
    loading = look_at(doctor, "Loading checkpoint shards:   0%|          | 0/2 [00:00<?, ?it/s]Killed\n")
    assert any("low_cpu_mem_usage" in one for one in loading["host_ram_oom"]), loading
    assert not any("num_workers" in one for one in loading["host_ram_oom"])
    later = look_at(doctor, "Loading checkpoint shards: 100%|##| 2/2\nepoch 1 loss 0.5\nKilled\n")
    assert any("num_workers" in one for one in later["host_ram_oom"]), later


def test_windows_is_told_of_its_paging_file(doctor: Doctor) -> None:
    line = (
        "RuntimeError: CUDA out of memory. Tried to allocate 90.00 MiB (GPU 0; 24.00 GiB total capacity; 13.00 GiB "
        "already allocated; 5.00 GiB free; 13.20 GiB reserved in total by PyTorch)\n"
    )
    found = look_at(doctor, "Operating system: Windows\n" + line)["free_but_failed"]
    assert any("paging file" in one for one in found) and not any("wsl" in one for one in found), found


def test_an_optimizer_that_is_sharded_is_not_told_to_be(doctor: Doctor) -> None:
    log = doctor.product.folder / "job.log"
    oom = (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.39 GiB. GPU 1 has a total capacity of "
        "79.32 GiB of which 2.40 GiB is free. Process 105 has 76.92 GiB memory in use. Of the allocated memory 73.28 "
        "GiB is allocated by PyTorch, and 1.59 GiB is reserved by PyTorch but unallocated.\n"
    )
    trace = (
        "Traceback (most recent call last):\n"
        '  File "/env/site-packages/deepspeed/runtime/zero/{file}", line 947, in _optimizer_step\n'
        "    self.optimizer.step()\n"
        '  File "/env/site-packages/torch/optim/adamw.py", line 144, in _init_group\n'
        '    state["exp_avg"] = torch.zeros_like(p)\n'
    )
    for file, stage_3 in (("stage3.py", False), ("stage_1_and_2.py", True)):
        log.write_text(trace.format(file=file) + oom)
        first = doctor.look(str(log)).result["findings"][0]
        assert first["label"] == "optimizer_state_first_step"
        given = [fix["command"] or "" for fix in first["fixes"]]
        assert not any("ZeRO stage 1" in one for one in given), given
        assert any("offload_optimizer" in one for one in given), given
        assert any('"stage": 3' in one for one in given) == stage_3, given
        assert any(file in one["why"] for one in first["not_advised"])


def test_figures_that_do_not_add_up_are_said_to_and_nothing_follows_of_them(doctor: Doctor) -> None:
    log = doctor.product.folder / "job.log"
    log.write_text(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 324.00 MiB (GPU 0; 8.00 GiB total "
        "capacity; 7.82 GiB already allocated; 0 bytes free; 7.17 GiB reserved in total by PyTorch)\n"
    )
    done = doctor.look(str(log))
    (reason,) = [one["reasoning"] for one in done.result["findings"][0]["evidence"]]
    assert "don't add up: 7.17 GiB are reserved" in reason and "-" not in reason, reason


def test_the_cure_is_the_one_that_the_program_itself_names(doctor: Doctor) -> None:
    paddle = commands(doctor, "pool_growth_policy--paddle_with_a_fraction")
    assert any("FLAGS_fraction_of_gpu_memory_to_use=0.98" in one for one in paddle), paddle
    assert not any("tf.config" in one for one in paddle), paddle
    offload = commands(doctor, "host_ram_oom--zero_offload_killed")
    assert any("offload_optimizer" in one for one in offload), offload
    tpu = commands(doctor, "capacity_exceeded--a_buffer_of_a_tpu")
    assert not any("XLA_PYTHON_CLIENT_PREALLOCATE" in one for one in tpu), tpu


def test_half_of_an_amd_gpus_memory_may_be_the_limit_of_what_it_may_map(doctor: Doctor) -> None:
    log = doctor.product.folder / "apu.log"
    log.write_text(
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 96.00 "
        "GiB of which 412.00 MiB is free. Of the allocated memory 46.30 GiB is allocated by PyTorch, and 81.00 MiB is "
        "reserved by PyTorch but unallocated.\n"
    )
    first = doctor.look(str(log)).result["findings"][0]
    assert any("mem_info_gtt_total" in (fix["command"] or "") for fix in first["fixes"]), first
    assert first["confidence"] <= 0.5, "nobody was seen to use the card"


def first_of(doctor: Doctor, text: str) -> dict[str, Any]:
    log = doctor.product.folder / "failed.log"
    log.write_text(text + "\n")
    return doctor.look(str(log)).result["findings"][0]


def test_attention_that_failed_in_the_fused_function_is_not_told_to_call_it(doctor: Doctor) -> None:
    oom = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 16.00 GiB. GPU 0 has a total capacity of "
        "23.69 GiB of which 3.00 GiB is free. Including non-PyTorch memory, this process has 20.00 GiB memory in "
        "use. Of the allocated memory 19.00 GiB is allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but "
        "unallocated."
    )
    for call, is_told in (
        ("F.scaled_dot_product_attention(q, k, v)", False),
        ("torch.softmax(q @ k.transpose(-2, -1), -1)", True),
    ):
        frame = f'  File "attention.py", line 12, in forward\n    out = {call}\n'
        first = first_of(doctor, "Traceback (most recent call last):\n" + frame + oom)
        assert first["label"] == "attention_quadratic", first
        given = [fix["command"] or "" for fix in first["fixes"]]
        assert any("scaled_dot_product_attention(q, k, v)" in one for one in given) is is_told, given
        assert any("sdpa_kernel" in one for one in given) is not is_told, given


def test_a_tpu_that_has_no_room_to_reserve_is_not_told_of_a_pool(doctor: Doctor) -> None:
    first = first_of(
        doctor,
        "RuntimeError: RESOURCE_EXHAUSTED: Attempting to reserve 9.54G at the bottom of memory. That was not possible. "
        "There are 7.93G free, 0B reserved, and 7.93G reservable.",
    )
    assert first["label"] == "capacity_exceeded", first
    assert not any("XLA_PYTHON_CLIENT" in (fix["command"] or "") for fix in first["fixes"])


def test_a_number_that_cuda_returns_for_a_full_card_is_understood(doctor: Doctor) -> None:
    assert first_of(doctor, "RuntimeError: cuMemCreate failed with error code 2")["label"] == "masked_oom"


BFC = (
    "2026-01-05 10:00:00.0: W external/xla/xla/tsl/framework/bfc_allocator.cc:497] Allocator (GPU_0_bfc) ran out of "
    "memory trying to allocate 2.50GiB (rounded to 2684354560)requested by op\n"
)


def given_by(first: dict[str, Any]) -> str:
    return "\n".join(f"{fix['what']} {fix['command'] or ''}" for fix in first["fixes"])


def test_jax_is_told_its_own_cure_though_its_pool_is_tensorflows(doctor: Doctor) -> None:
    raised = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2.5GiB\n"
    for text in (BFC, BFC.replace("external/xla/xla/", "") + raised):
        first = first_of(doctor, text)
        assert first["label"] == "pool_growth_policy", first
        assert "XLA_PYTHON_CLIENT_PREALLOCATE" in given_by(first) and "tf.config" not in given_by(first)
    frame = (
        'Traceback (most recent call last):\n  File "/usr/lib/python3/dist-packages/keras/engine.py", line 9, in fit\n'
    )
    ours = BFC.replace("external/xla/xla/tsl", "tensorflow/core/common_runtime")
    assert "tf.config" in given_by(first_of(doctor, ours + frame + "    x = 1\nRuntimeError: stopped\n"))


def killed(process: str, anon_kb: int, shmem_kb: int) -> str:
    return (
        f"Out of memory: Killed process 4242 ({process}) total-vm:90000000kB, anon-rss:{anon_kb}kB, file-rss:1234kB, "
        f"shmem-rss:{shmem_kb}kB, UID:1000 pgtables:60000kB oom_score_adj:0\n"
    )


def test_what_filled_the_host_decides_what_is_advised(doctor: Doctor) -> None:
    shared = given_by(first_of(doctor, killed("python", 1_000_000, 30_000_000)))
    assert "/dev/shm" in shared and "memmap" not in shared
    workers = given_by(first_of(doctor, killed("pt_data_worker", 30_000_000, 1_000)))
    assert "Fewer loader workers" in workers and "/dev/shm" not in workers and "RssAnon" not in workers
    own = given_by(first_of(doctor, killed("python", 30_000_000, 1_000)))
    assert "RssAnon" in own
    one = given_by(
        first_of(
            doctor,
            "RuntimeError: [enforce fail at alloc_cpu.cpp:114] err == 0. DefaultCPUAllocator: can't allocate memory: "
            "you tried to allocate 68719476736 bytes. Error code 12 (Cannot allocate memory)",
        )
    )
    assert "memmap" in one and "num_workers" not in one


def test_an_optimizers_temporaries_are_not_its_state(doctor: Doctor) -> None:
    log = doctor.product.folder / "step.log"
    log.write_text(
        "Traceback (most recent call last):\n"
        '  File "/x/torch/optim/adamw.py", line 606, in _multi_tensor_adamw\n'
        "    exp_avg_sq_sqrt = torch._foreach_sqrt(device_exp_avg_sqs)\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 130.00 MiB. GPU 0 has a total capacity of 94.99 "
        "GiB of which 87.19 MiB is free. Including non-PyTorch memory, this process has 94.90 GiB memory in "
        "use. Of the "
        "allocated memory 92.03 GiB is allocated by PyTorch, and 1.28 GiB is reserved by PyTorch but unallocated.\n"
    )
    assert doctor.look(str(log)).result["findings"][0]["label"] == "capacity_exceeded"


def test_an_apu_that_shows_a_part_of_its_memory_is_told_so(doctor: Doctor) -> None:
    log = doctor.product.folder / "apu.log"
    log.write_text(
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 16.00 GiB. GPU 0 has a total capacity "
        "of 15.24 GiB "
        "of which 15.09 GiB is free. Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is "
        "reserved by "
        "PyTorch but unallocated.\n[    4.97] [drm] amdgpu: 98304M of VRAM memory ready\n"
    )
    first = doctor.look(str(log)).result["findings"][0]
    assert first["label"] == "mig_or_partition"
    assert any("pages_limit" in str(fix) for fix in first["fixes"]), first


def test_the_scratch_of_a_tpus_core_is_not_its_memory(doctor: Doctor) -> None:
    log = doctor.product.folder / "tpu.log"
    log.write_text(
        "RuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory "
        "space vmem. Used "
        "17.03M of 16.00M vmem. Exceeded vmem capacity by 1.03M.\n"
    )
    told = doctor.look(str(log)).result["findings"][0]
    assert told["label"] == "triton_shared_memory" and "vmem" in told["title"]


def test_a_tensor_of_tensorflow_is_told_of_its_size_before_its_pool(doctor: Doctor) -> None:
    log = doctor.product.folder / "fit.log"
    log.write_text("ResourceExhaustedError: OOM when allocating tensor with shape[240000,4096]\n")
    found = doctor.look(str(log)).result["findings"]
    assert [one["label"] for one in found[:2]] == ["pool_growth_policy", "capacity_exceeded"]
    assert found[0]["confidence"] < 0.7 and "smaller" in found[0]["fixes"][0]["what"]
    assert "3.66 GiB" in found[0]["evidence"][0]["reasoning"]


def test_what_runs_out_under_wsl_or_while_weights_are_read_is_told_so(doctor: Doctor) -> None:
    log = doctor.product.folder / "load.log"
    log.write_text("On WSL2 the loader just gets killed.\n\nmodel = AutoModel.from_pretrained(NAME)\n")
    given = [fix["command"] or "" for fix in doctor.look(str(log)).result["findings"][0]["fixes"]]
    assert any(".wslconfig" in one for one in given) and any("low_cpu_mem_usage" in one for one in given), given
    assert not any("num_workers" in one for one in given), given


def test_a_card_of_intel_is_told_its_own_names(doctor: Doctor) -> None:
    log = doctor.product.folder / "train.log"
    log.write_text(
        "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 15.91 "
        "GiB. Of the allocated memory 14.90 GiB is allocated by PyTorch, and 110.00 MiB is reserved by PyTorch but "
        "unallocated.\n"
    )
    done = doctor.look(str(log))
    assert 'torch.autocast("xpu"' in done.stdout, done.stdout
    assert 'autocast("cuda"' not in done.stdout and "torch.cuda.memory" not in done.stdout


def test_what_deepspeed_pins_is_told_with_its_own_key(doctor: Doctor) -> None:
    given = commands(doctor, "pinned_host_limit--of_an_offload")
    assert any('"pin_memory": false' in one for one in given), given
    assert not any("DataLoader" in one for one in given), given


def test_a_gpu_that_shares_the_hosts_memory_is_told_its_limit_below_llama_cpp(doctor: Doctor) -> None:
    given = commands(doctor, "mig_or_partition--llama_on_an_apu")
    assert any("ttm.pages_limit" in one for one in given) and any("-ngl" in one for one in given), given


OF_APU = {
    "a_card_that_is_named": (
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 62.22 "
        "GiB of which 4.10 GiB is free. Of the allocated memory 57.20 GiB is allocated by PyTorch, and 120.00 MiB is "
        "reserved by PyTorch but unallocated.\n# AMD Ryzen AI MAX+ 395 (Strix Halo), gfx1151, 128 GB\n"
    ),
    "a_server": (
        "ggml_cuda_init: found 1 ROCm devices:\n  Device 0: AMD Radeon 8060S Graphics, gfx1151 (0x1151), VMM: no\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 70000.00 MiB on device 0: cudaMalloc failed: out of "
        "memory\nalloc_tensor_range: failed to allocate ROCm0 buffer of size 73400320000\n"
    ),
    "words_of_its_driver": (
        "[    1.768086] amdgpu 0000:bd:00.0:  63968M of GTT memory ready.\n"
        "ds4: ROCm model arena alloc failed for tensor-span:105 (1792.00 MiB chunk): out of memory\n"
    ),
}


@pytest.mark.parametrize("name", OF_APU)
def test_a_gpu_that_shares_the_hosts_memory_is_told_of_its_limit(doctor: Doctor, tmp_path: Path, name: str) -> None:
    (tmp_path / "job.log").write_text(OF_APU[name])
    fixes = doctor.look(str(tmp_path / "job.log")).result["findings"][0]["fixes"]
    assert any("ttm.pages_limit" in one["command"] and "amdgpu.gttsize" in one["command"] for one in fixes), fixes
