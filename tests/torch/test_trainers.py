"""Training code as people run it, unmodified, cut short by vramfit: every phase is seen and the answer is there."""

from __future__ import annotations

import functools
import importlib.util
import json
import sys

import pytest
from card_run import SCRIPTS, CardRun, finished, run_on_card

pytestmark = pytest.mark.warm

CUT: tuple[str, ...] = ()  # vramfit's default: cut to a few batches


def needs(package: str) -> pytest.MarkDecorator:
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"this environment has no {package}")


def run_cut(*command: str, gpu: str = "rtx3090") -> CardRun:
    return finished(run_on_card(sys.executable, *command, gpu=gpu, options=CUT))


def phases_of(run: CardRun) -> dict[str, dict]:
    return {phase["name"]: phase for phase in run.result["phases"]}


def check_trained_and_validated(run: CardRun) -> None:
    assert run.result["verdict"] == "fits", run.tail()
    phases = phases_of(run)
    assert {"train", "validate"} <= set(phases), run.tail()
    assert phases["train"]["peak_allocated_bytes"] > 0
    assert phases["validate"]["peak_allocated_bytes"] > 0
    assert run.result["cuts"], "nothing is said to have been cut short"


@functools.cache
def run_trainer(*switches: str) -> CardRun:
    """Two tests look at some of these runs."""
    return run_cut(str(SCRIPTS / "hf_trainer.py"), *switches)


@needs("transformers")
@needs("accelerate")
@pytest.mark.parametrize(
    "switches",
    [(), ("bf16",), pytest.param(("fp16",), marks=pytest.mark.long), ("ckpt",)],
    ids=lambda s: "-".join(s) or "plain",
)
def test_hugging_face_trainer(switches: tuple[str, ...]) -> None:
    check_trained_and_validated(run_trainer(*switches))


@needs("transformers")
@needs("accelerate")
def test_checkpointing_under_the_trainer_lowers_the_training_peak() -> None:
    saved = [phases_of(run)["train"]["peak_allocated_bytes"] for run in (run_trainer(), run_trainer("ckpt"))]
    assert saved[1] < saved[0]


@needs("lightning")
@pytest.mark.parametrize(
    "precision",
    [pytest.param("32-true", marks=pytest.mark.long), "bf16-mixed", pytest.param("16-mixed", marks=pytest.mark.long)],
)
def test_lightning_trainer(precision: str) -> None:
    check_trained_and_validated(run_cut(str(SCRIPTS / "lightning_trainer.py"), precision))


def run_within(name: str, budget: str) -> CardRun:
    return finished(run_on_card(sys.executable, str(SCRIPTS / name), options=("--within", budget)))


@needs("transformers")
@needs("accelerate")
def test_a_trainers_callbacks_are_counted_on_to_the_numbers_that_they_hold() -> None:
    run = run_within("hf_unfreezes_late.py", "80n")
    reached = json.loads(run.stdout.splitlines()[-1])  # after what the Trainer prints
    assert 31 <= reached["epoch"] < 32 and reached["step"] == 2222, run.tail()
    told = [cut for cut in run.result["cuts"] if "counted on" in cut]
    assert any("epochs" in cut and " 31" in cut for cut in told) and any("2,222" in cut for cut in told), told
    assert run.result["verdict_words"] == "fits as far as it ran"


@needs("lightning")
def test_lightnings_epochs_are_counted_on_to_the_numbers_that_callbacks_hold() -> None:
    run = run_within("lightning_unfreezes_late.py", "80n")
    assert run.line() == {"unfrozen": [41], "epoch": 90}, run.tail()
    assert any("counted on" in cut and " 41" in cut for cut in run.result["cuts"]), run.result["cuts"]
    # Its steps are not counted on: what they decide is told.
    (late,) = [lines for lines in run.result["unreached"] if "global_step" in lines["when"]]
    assert late["when"] == "if self.global_step == 3000" and late["card"] != "no"


@needs("accelerate")
@pytest.mark.parametrize("precision", ["no", pytest.param("bf16", marks=pytest.mark.long), "fp16"])
def test_accelerate_launch(precision: str) -> None:
    launch = ("-m", "accelerate.commands.launch", "--num_processes", "1", "--mixed_precision", precision)
    check_trained_and_validated(run_cut(*launch, str(SCRIPTS / "accelerate_loop.py")))


@needs("accelerate")
def test_accelerate_launch_on_two_cards() -> None:
    launch = ("-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--mixed_precision", "no")
    run = run_cut(*launch, str(SCRIPTS / "accelerate_loop.py"), gpu="2xrtx3090")
    check_trained_and_validated(run)
    assert [card["peak_allocated_bytes"] > 0 for card in run.result["devices"]] == [True, True]


@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=pytest.mark.long), "float16"])
def test_a_loop_without_loaders_that_would_run_for_days(dtype: str) -> None:
    run = run_cut(str(SCRIPTS / "language_loop.py"), "--dtype", dtype)
    check_trained_and_validated(run)


def test_the_same_loop_under_torchrun() -> None:
    launch = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    run = run_cut(*launch, str(SCRIPTS / "language_loop.py"), gpu="2xrtx3090")
    assert run.result["verdict"] == "fits", run.tail()
    assert "train" in phases_of(run)


def test_loops_of_several_ranks_are_not_counted_on_and_told() -> None:
    launch = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(SCRIPTS / "ranks_count.py"))
    run = finished(run_on_card(sys.executable, *launch, gpu="2xrtx3090", options=("--within", "40n")))
    assert run.result["verdict_words"] == "fits as far as it ran"
    assert any("the loop at" in text and "ranks_count.py:23 was ended early" in text for text in run.result["open"])
    assert any("step == 4000" in lines["code"] for lines in run.result["unreached"]), run.result["unreached"]
    peaks = [device["peak_allocated_bytes"] for device in run.result["devices"]]
    assert len(peaks) == 2 and peaks[0] == peaks[1] > 0
