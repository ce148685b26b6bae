"""Advice is of the program that speaks, in numbers that its text gives, and never against what it says."""

from __future__ import annotations

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
    llama = commands(doctor, "serving_overcommit--compute_buffers_of_llama_cpp")
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


def test_a_mac_is_not_told_of_cuda(doctor: Doctor) -> None:
    for text in ("capacity_exceeded--mps", "library_buffers--metal_beside_the_pools"):
        for command in commands(doctor, text):
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
