"""`--gpu real`: what is told of the machine's own cards, and that the job is not cut short on them.

No machine of ours has one: a virtual card around vramfit plays it. The driver, the runtime and NVML that the inner run
finds are the stand-ins, which tell its recorder nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import tomllib
from product import ROOT, VRAMFIT, Finished, Product, strict_schema

MIB = 1 << 20
GIB = 1 << 30
H200 = next(
    card for card in tomllib.loads((ROOT / "src/devices/cards.toml").read_text())["card"] if card["key"] == "h200"
)
H200_BYTES = H200["memory_bytes"]
TRAINING = ROOT / "tests" / "cli" / "real_training.py"


def h200_context(result: dict[str, Any]) -> int:
    cuda = result["torch"].partition("+cu")[2]  # 2.12.1+cu130
    return H200["overhead"][cuda[:2]]["context_lazy_bytes"]


def run_on_machine(
    product: Product,
    *words: str,
    script: Path = TRAINING,
    cards: str = "h200",
    occupied: str = "0",
    options: tuple[str, ...] = (),
    **variables: str,
) -> Finished:
    """`vramfit run --gpu real` of a script on a machine with these cards."""
    report = product.folder / "real.json"
    inner = [str(VRAMFIT), "run", "--gpu", "real", *options, "--json", str(report), "--", sys.executable]
    machine = ["--gpu", cards, "--occupied", occupied, "--files", "shared"]
    done = product.call("run", *machine, "--", *inner, str(script), *words, **variables)
    done = product.read(done, report)
    assert done.result, done
    jsonschema.validate(done.result, strict_schema("run"))
    return done


def held(result: dict[str, Any], device: int = 0) -> dict[str, int]:
    """Bytes by owner, of what is no tensor."""
    rows = [row for row in result["owners_at_peak"] if row["device"] == device and not row["blocks"]]
    return {row["owner"]: row["bytes"] for row in rows}


def steps_of(result: dict[str, Any], phase: str = "train") -> int:
    return next(row["steps"] for row in result["phases"] if row["name"] == phase)


def test_a_card_tells_its_name_its_size_and_what_the_job_holds(product: Product) -> None:
    done = run_on_machine(product, occupied="3GiB")
    result, (card,) = done.result, done.result["devices"]
    assert (card["name"], card["total_bytes"]) == ("NVIDIA H200", H200_BYTES)
    assert result["margin_bytes"] == pytest.approx(H200_BYTES - card["peak_device_bytes"], abs=64 * MIB)
    assert "fits NVIDIA H200: " in done.stdout + done.stderr
    # The stand-ins' own figures: a context, the first kernel and cuBLAS.
    assert card["context_bytes"] == h200_context(result) and card["context_uncertainty_bytes"] == 0
    assert 100 * MIB < card["library_bytes"] < 200 * MIB
    assert card["occupied_bytes"] == 3 * GIB, "another's, not the job's"
    outside = held(result)
    assert "unexplained" not in outside
    assert outside["context"] == card["context_bytes"] and outside["libraries"] == card["library_bytes"]
    assert outside["occupied"] == 3 * GIB
    assert sum(row["bytes"] for row in result["owners_at_peak"]) == card["peak_device_bytes"]
    assert [use["context_bytes"] for use in result["evidence"]["contexts"]] == [h200_context(result)]
    assert len(result["measured"]) == 1 and "NVML's figure" in result["measured"][0]
    assert not any("context" in remark["text"] for remark in result["assumed"])


def test_a_job_runs_to_its_end_and_is_told_as_whole(product: Product) -> None:
    done = run_on_machine(product)
    assert "saved after 24 steps" in done.stdout and steps_of(done.result) == 24
    assert done.result["cuts"] == [] and done.result["open"] == [] and done.result["reach"]["whole"]
    assert done.result["verdict_words"] == "fits"
    assert (product.folder / "last.pt").exists(), "its files are the user's own"


def test_a_job_that_is_to_be_cut_short_is_told_as_such(product: Product) -> None:
    done = run_on_machine(product, options=("--steps", "2"))
    assert "saved after 4 steps" in done.stdout, "two epochs of two batches"
    assert "--steps 2 cuts it short" in done.stderr
    assert any("cut short on a real card" in warning["text"] for warning in done.result["warnings"])
    assert done.result["cuts"] and done.result["verdict_words"] == "fits as far as it ran"


def test_what_nvml_does_not_tell_is_not_called_the_jobs(product: Product) -> None:
    script = product.folder / "nvml.txt"
    script.write_text("0 denied\n")
    done = run_on_machine(product, occupied="1GiB", VRAMFIT_NVML_SCRIPT=str(script))
    (card,) = done.result["devices"]
    assert (card["name"], card["total_bytes"]) == ("NVIDIA H200", H200_BYTES)
    assert (card["context_bytes"], card["library_bytes"], card["occupied_bytes"]) == (0, 0, 0)
    assert GIB + 600 * MIB < held(done.result)["unexplained"] < GIB + 800 * MIB
    assert "NVML does not say what this job's processes hold" in done.result["measured"][0]
    assert done.result["margin_bytes"] == pytest.approx(H200_BYTES - card["peak_device_bytes"], abs=64 * MIB)


def test_segments_that_grow_and_segments_given_back_are_no_library(product: Product) -> None:
    done = run_on_machine(product, "--empty-cache", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    usual = run_on_machine(product, "--empty-cache")
    for result in (done.result, usual.result):
        (card,) = result["devices"]
        assert card["context_bytes"] == h200_context(result)
        assert 100 * MIB < card["library_bytes"] < 200 * MIB
        assert sum(row["bytes"] for row in result["owners_at_peak"]) == card["peak_device_bytes"]


def test_a_card_that_is_full_is_named(product: Product) -> None:
    done = run_on_machine(product, "--extra", "2000", cards="rtx3060:2GiB")
    assert done.result["verdict"] == "out_of_memory"
    assert "out of memory on NVIDIA GeForce RTX 3060" in done.stdout + done.stderr
    assert held(done.result)["context"] > 0


def test_each_card_is_measured(product: Product) -> None:
    done = run_on_machine(product, "--device", "1", cards="h200,rtx3060")
    names = {card["index"]: card["name"] for card in done.result["devices"]}
    assert names == {1: "NVIDIA GeForce RTX 3060"}
    assert held(done.result, 1)["context"] > 0


def test_processes_with_different_cards_under_one_number_are_told(product: Product) -> None:
    script = product.script(
        """
        import os, subprocess, sys, torch
        held = torch.zeros(1 << 20, device="cuda")
        if len(sys.argv) < 2:
            os.environ["CUDA_VISIBLE_DEVICES"] = "1"
            subprocess.run([sys.executable, __file__, "child"], check=True)
        """
    )
    done = run_on_machine(product, script=script, cards="h200,rtx3060")
    assert any("different cards under the number 0" in warning["text"] for warning in done.result["warnings"])
