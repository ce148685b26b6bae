"""`vramfit verify` finds the loops that a micro-batch plan can't see from outside, and accuses no other; `vramfit fit`
does not offer what it found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from framework_habits import HABITS as FRAMEWORK_HABITS
from hooked_job import STAGE, variables
from loop_habits import HABITS
from outcomes import FOUR, TECHNIQUES
from product import strict_schema

BY_NAME = {habit.name: habit for habit in HABITS}
VRAMFIT = STAGE / "bin" / "vramfit"

pytestmark = pytest.mark.skipif(not VRAMFIT.exists(), reason="needs the whole build")


def call(folder: Path, *words: str, timeout: float = 400) -> tuple[int, str, dict]:
    """vramfit with these words: its exit code, what it printed, and what --json wrote."""
    report = folder / "report.json"
    ours = ("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "VRAMFIT_RUN_DIR")
    environment = {k: v for k, v in variables(folder, VRAMFIT_STORE="none").items() if k not in ours}
    done = subprocess.run(
        [str(VRAMFIT), words[0], "--json", str(report), *words[1:]],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert report.exists(), done.stderr
    return done.returncode, done.stdout, json.loads(report.read_text())


def verify(folder: Path, text: str, *techniques: dict) -> tuple[int, str, dict]:
    plan, script = folder / "plan.json", folder / "train.py"
    plan.write_text(json.dumps({"version": 2, "name": "the plan", "techniques": techniques}))
    script.write_text(text)
    code, printed, report = call(folder, "verify", str(plan), "--gpu", "rtx3090", "--", sys.executable, str(script))
    jsonschema.validate(report, strict_schema("verify"))
    return code, printed, report["equivalence"]


TRAINS_SOMETHING_ELSE = {
    "a sum divided by 2, in parts of two": "gradients are 0.25 times",
    "contrastive loss in the batch": "gradients differ by",
}


@pytest.mark.parametrize("name", TRAINS_SOMETHING_ELSE)
def test_loops_that_train_something_else_are_found(tmp_path: Path, name: str) -> None:
    code, printed, found = verify(tmp_path, BY_NAME[name].script(), FOUR)
    assert (code, found["class"]) == (1, "other"), printed
    assert "trains something else" in printed
    assert TRAINS_SOMETHING_ELSE[name] in found["text"], found


FINE = {
    ("AdamW", "micro_batch"): ("rounding", "weights equal to rounding"),
    ("reduction='sum'", "micro_batch"): ("rounding", "weights equal to rounding"),
    ("a smaller last batch", "micro_batch"): ("rounding", "4 steps compared"),
    ("batch norm", "micro_batch"): ("statistics", "trains the same but for batch statistics"),
    ("batch norm", "split_forward"): ("statistics", "trains the same but for batch statistics"),
    ("AdamW", "fp16"): ("precision", "as rounding to fewer bits leaves them"),
}


@pytest.mark.parametrize(("name", "technique"), FINE)
def test_loops_that_train_the_same_are_not_accused(tmp_path: Path, name: str, technique: str) -> None:
    code, printed, found = verify(tmp_path, BY_NAME[name].script(), *TECHNIQUES[technique])
    assert (code, found["class"]) == (0, FINE[name, technique][0]), printed
    assert FINE[name, technique][1] in found["text"]
    assert found["checked"] and found["steps"] == 4 and not found["differences"]


def test_a_plan_that_does_not_apply_is_no_difference(tmp_path: Path) -> None:
    code, printed, found = verify(tmp_path, BY_NAME["own accumulation"].script(), FOUR)
    assert (code, found["class"]) == (3, "not_checked"), printed
    assert "accumulates gradients itself" in found["text"]


def test_a_script_that_takes_no_step_is_not_compared(tmp_path: Path) -> None:
    code, printed, found = verify(tmp_path, "import torch\nprint(torch.zeros(3, device='cuda'))\n", FOUR)
    assert (code, found["class"]) == (4, "not_checked"), printed
    assert "neither an optimizer step nor an evaluation" in found["text"]


# Activations decide: in parts of its batch it fits a card that is too small for the whole.
WIDE = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(256, 64), torch.randn(256, 8)), batch_size=64)
model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 8)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for epoch in range(3):
    for x, y in loader:
        wide = model[1](model[0](x.cuda())).unsqueeze(1).expand(-1, 1024, -1)
        for _ in range(24):
            wide = torch.sin(wide)
        loss = nn.functional.mse_loss(model[2](wide.mean(1)), y.cuda(), reduction="{reduction}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize("loss", ["sum", "mean", "contrast"])
def test_fit_offers_micro_batches_where_they_train_the_same(tmp_path: Path, loss: str) -> None:
    script = tmp_path / "train.py"
    text = WIDE.replace("{reduction}", "mean" if loss == "contrast" else loss)
    if loss == "contrast":
        text = text.replace(
            "        optimizer.zero_grad()",
            "        out = model[2](wide.mean(1))\n"
            "        loss = loss + nn.functional.cross_entropy(out @ out.T, torch.arange(len(out)).cuda())\n"
            "        optimizer.zero_grad()",
        )
    script.write_text(text)
    options = ["--gpu", "rtx3060:1536MiB", "--only", "micro_batch", "--plan-out", str(tmp_path / "plan.json")]
    code, printed, report = call(tmp_path, "fit", *options, "--", sys.executable, str(script))
    answer = report["fit"]
    if loss != "contrast":
        assert code == 0, printed
        assert answer["plans"][0]["equivalence"]["class"] == "rounding", answer["plans"][0]
        assert "trains the same: 4 steps compared, weights equal to rounding" in " ".join(printed.split())
    else:
        assert (code, answer["verdict"]) == (1, "not_proven"), printed
        assert answer["plans"] == [] and not (tmp_path / "plan.json").exists()
        (lost,) = [row for row in answer["lost"] if row["equivalence"]]
        assert (lost["standing"], lost["equivalence"]["class"]) == ("trains_else", "other")
        assert "gradients differ by" in lost["reason"]


@pytest.mark.parametrize(
    ("most", "why"), [(7, "ended in the middle of a batch"), (8, "after 4 optimizer steps instead")]
)
def test_fit_refuses_parts_to_a_loop_that_counts_its_batches(tmp_path: Path, most: int, why: str) -> None:
    script = tmp_path / "train.py"
    counted = WIDE.replace("{reduction}", "mean").replace("for epoch", "step = 0\nfor epoch")
    script.write_text(counted + f"        step += 1\n        if step >= {most}:\n            raise SystemExit\n")
    options = ["--gpu", "rtx3060:1536MiB", "--only", "micro_batch", "--plan-out", str(tmp_path / "plan.json")]
    code, printed, report = call(tmp_path, "fit", *options, "--", sys.executable, str(script))
    assert code == 1 and report["fit"]["plans"] == [], printed
    assert why in " ".join(printed.split())


@pytest.mark.slow
def test_a_trainer_that_draws_the_parts_of_a_step_ahead_is_told_what_differs(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    habit = next(habit for habit in FRAMEWORK_HABITS if habit.name == "HF Trainer")
    pairs = "F.cross_entropy(out @ out.T, torch.arange(len(out), device=out.device))"
    text = habit.script().replace("F.mse_loss(out, y)", pairs)
    code, printed, found = verify(tmp_path, text, FOUR)
    assert (code, found["class"]) == (1, "other"), printed
    assert found["text"].startswith("trains something else: gradients differ by"), found
