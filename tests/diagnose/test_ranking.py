"""A leak with holes between what it keeps: what piles up is told before the holes, from whatever is given."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from bare_job import HOOK, BareJob
from product import Product

# Lengths that come round leave blocks of other sizes idle.
LEAKS = """
import atexit, time, torch
from torch import nn
atexit.register(time.sleep, 0.5)
model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
log = {"outs": []}
def train():
    for step in range(2000):
        x = torch.randn(1500 + 700 * (step % 5), 1024, device="cuda")
        out = model(x)
        optimizer.zero_grad()
        out.square().mean().backward()
        optimizer.step()
        log["outs"].append(out.detach())
train()
"""
LEAK = ("leak_growth", "refs_kept_across_steps", "preds_accumulated_on_gpu")


def diagnose(product: Product, *words: str) -> dict[str, Any]:
    report = product.folder / "doctor.json"
    done = product.call("doctor", "--json", str(report), *words, timeout=240)
    assert report.exists(), str(done)
    return json.loads(report.read_text())


def test_of_a_script_that_runs_out(product: Product) -> None:
    script = product.script(LEAKS)
    told = diagnose(product, "--gpu", "rtx3060:3GiB", "--within", "60", "--", sys.executable, str(script))
    labels = [one["label"] for one in told["findings"]]
    assert labels[0] in LEAK, told["findings"]


@pytest.mark.parametrize("file", ["report.json", "snapshot.pickle"])
def test_of_what_is_left_of_a_job_that_ran_out(product: Product, tmp_path: Path, file: str) -> None:
    bare = BareJob(tmp_path)
    ran = bare.run(LEAKS, PYTHONPATH=HOOK, VRAMFIT_ON_OOM="report")
    assert "OutOfMemoryError" in ran.stderr, ran.stderr
    (place,) = (tmp_path / "vramfit-oom").iterdir()
    told = diagnose(product, str(place / file))
    labels = [one["label"] for one in told["findings"]]
    assert labels[0] in LEAK, told["findings"]
