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
