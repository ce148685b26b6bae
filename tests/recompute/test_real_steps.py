"""What the solver chooses for a budget stays within it when the script is run with it, and trains the same.

The recorded step of each network goes to the solver with three budgets; its answers are run as plans.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from least_cost import find_least_cost

ROOT = Path(__file__).resolve().parents[2]
STAGE = Path(os.environ.get("VRAMFIT_STAGE") or ROOT / "build" / "dev" / "stage")
TOOL = STAGE.parent / "tools" / "vramfit_recompute_tool"
SCRIPT = ROOT / "bench" / "recompute" / "train.py"
GPU = "rtx3090"
STEPS = [
    pytest.param("resnet", 16, marks=pytest.mark.long),
    ("former", 8),
    ("unet", 8),
    pytest.param("densenet", 8, marks=pytest.mark.long),
]
# A share of the peak that was foretold: what a second run holds beside what the recorded step shows. Measured at four
# times these batches: 0 % on the U-Net, 0 to 8 % on ResNet-50, 1 to 3 % on the transformer, 2 to 5 % on DenseNet.
BEYOND = 0.10


def call(*command: Any, **options: Any) -> str:
    environment = {**os.environ, "VRAMFIT_HOME": str(STAGE)}
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, text=True, env=environment, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout


def allocated(folder: Path, kind: str, batch: int, *options: str) -> int:
    told = folder / "run.json"
    run = (STAGE / "bin" / "vramfit", "run", "--gpu", GPU, *options, "--json", told)
    call(*run, "--", sys.executable, SCRIPT, kind, batch)
    phases = json.loads(told.read_text())["phases"]
    return max(phase["peak_allocated_bytes"] for phase in phases)


@pytest.mark.parametrize(("kind", "batch"), STEPS)
def test_what_is_run_again_for_a_budget_is_within_it_when_it_is_run(tmp_path: Path, kind: str, batch: int) -> None:
    step = json.loads(call(TOOL, "step", GPU, sys.executable, SCRIPT, kind, batch).splitlines()[-1])
    assert step["peak"] == pytest.approx(allocated(tmp_path, kind, batch), rel=0.02)
    least = json.loads(call(TOOL, "solve", input=json.dumps({**step, "budgets": []})))["least_peak"]
    assert least < 0.75 * step["peak"]
    budgets = [int(least + (step["peak"] - least) * share) for share in (0.7, 0.4, 0.1)]
    answers = json.loads(call(TOOL, "solve", input=json.dumps({**step, "budgets": budgets})))["answers"]
    plan = tmp_path / "plan.json"
    for budget, answer in zip(budgets, answers):
        assert answer["peak"] <= budget
        assert answer["cost"] == pytest.approx(answer["bound"], rel=0.01)
        names = [step["modules"][index]["name"] for index in answer["modules"]]
        plan.write_text(json.dumps({"version": 1, "name": "t", "techniques": [{"id": "checkpoint", "modules": names}]}))
        taken = allocated(tmp_path, kind, batch, "--plan", str(plan))
        assert taken <= (1 + BEYOND) * answer["peak"], f"{names}: {taken} of {answer['peak']}"
        assert taken < step["peak"]


def test_a_plan_for_a_smaller_card_is_proven_on_it(tmp_path: Path) -> None:
    told = tmp_path / "fit.json"
    fit = (STAGE / "bin" / "vramfit", "fit", "--gpu", f"{GPU}:1500MiB", "--only", "checkpoint", "--json", told)
    call(*fit, "--", sys.executable, SCRIPT, "unet", 8, cwd=tmp_path)
    best = json.loads(told.read_text())["fit"]["plans"][0]
    assert best["standing"] == "fits"
    assert best["proven"]["peak_device_bytes"] <= 1500 << 20
    assert best["equivalence"]["class"] == "equal"


@pytest.mark.parametrize(("kind", "batch"), STEPS)
def test_what_is_run_again_costs_as_little_as_a_mixed_integer_program_finds(kind: str, batch: int) -> None:
    step = json.loads(call(TOOL, "step", GPU, sys.executable, SCRIPT, kind, batch).splitlines()[-1])
    least = json.loads(call(TOOL, "solve", input=json.dumps({**step, "budgets": []})))["least_peak"]
    budgets = [int(least + (step["peak"] - least) * share) for share in (0.9, 0.6, 0.3, 0.1, 0.02, -0.02)]
    answers = json.loads(call(TOOL, "solve", input=json.dumps({**step, "budgets": budgets})))["answers"]
    assert len(answers) == len(budgets)
    for budget, answer in zip(budgets, answers):
        assert answer["is_proven"]
        assert answer.get("cost") == pytest.approx(find_least_cost(step, budget), rel=1e-5), budget
