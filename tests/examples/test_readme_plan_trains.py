"""The plan that the README shows trains for 200 steps what the script trains without it, and no number becomes NaN."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from product import ROOT, VRAMFIT

EXAMPLE = ROOT / "examples" / "pp_liteseg"
STEPS = 200

pytestmark = [
    pytest.mark.skipif(not VRAMFIT.exists(), reason="vramfit is not built"),
    pytest.mark.skipif(importlib.util.find_spec("PIL") is None, reason="Pillow is not installed"),
    pytest.mark.warm,
    pytest.mark.long,
]


def readme_plan() -> dict[str, object]:
    """The plan that the README's answer shows proven, by its own words."""
    answer = (ROOT / "README.md").read_text(encoding="utf-8")
    name = re.search(r"\[✓\] (.*?) fits NVIDIA", answer.replace("\n    ", " "))
    modules = re.search(r"- run again in backward: (.*)", answer)
    assert name and modules
    assert name[1] == "selective checkpoint 3 blocks, gradients released in backward", "this test makes that plan"
    checkpoint = {"id": "checkpoint", "keep": "products", "modules": modules[1].split(", ")}
    return {"version": 2, "name": name[1], "techniques": [checkpoint, {"id": "release_gradients"}]}


# The example's transforms draw from Python's own generator, which nothing seeds: two runs see other crops.
SEEDED = """
import random, runpy, sys
random.seed(0)
sys.path.insert(0, {folder!r})
runpy.run_path({script!r}, run_name="__main__")
"""


def losses_of(product, scenes: Path, *options: str) -> list[float]:
    arguments = ["--data", str(scenes), "--crop-size", "64", "64", "--batch-size", "2", "--workers", "0"]
    ends = ["--epochs", str(STEPS // 2), "--val-interval", str(STEPS)]
    script = product.script(SEEDED.format(folder=str(EXAMPLE), script=str(EXAMPLE / "train.py")), "seeded.py")
    computed = ("--values", "cpu", "--steps", "all", *options)
    finished = product.run(script, *arguments, *ends, gpu="gtx1650", options=computed, timeout=1800)
    assert finished.exit_code == 0, finished
    assert "2 steps an epoch" in finished.stdout
    return [float(loss) for loss in re.findall(r"loss (\S+),", finished.stdout)]


def test_it_trains_the_same_for_200_steps(product, tmp_path):
    scenes = tmp_path / "scenes"
    maker = [sys.executable, EXAMPLE / "make_dataset.py", scenes, "--images", "5", "--size", "128", "64"]
    subprocess.run(maker, check=True, capture_output=True)
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(readme_plan()))
    without, with_plan = losses_of(product, scenes), losses_of(product, scenes, "--plan", str(plan))
    assert len(without) == STEPS // 2
    assert all(map(math.isfinite, with_plan))
    assert with_plan == without, "the printed losses of all epochs"
    assert with_plan[-1] < 0.7 * with_plan[0], "it learns"
