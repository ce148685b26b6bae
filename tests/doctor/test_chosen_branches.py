"""Branches on values that a virtual card does not compute: the other way may be the one that keeps memory."""

from __future__ import annotations

import sys

import pytest
from doctor_calls import Doctor

pytestmark = pytest.mark.warm

KEEPS_HARD_BATCHES = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(512, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
hard, usual = [], None
for step in range(60):
    x = torch.randn(512, 512, device="cuda")
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    value = loss.item()
    usual = value if usual is None else 0.9 * usual + 0.1 * value
    if value > KEPT_FROM:
        hard.append(x)
"""


def look(doctor: Doctor, kept_from: str, *options: str) -> str:
    script = doctor.product.script(KEEPS_HARD_BATCHES.replace("KEPT_FROM", kept_from))
    done = doctor.look("--gpu", "rtx3060", *options, "--", sys.executable, str(script))
    assert done.result is not None, str(done)
    finding = done.result["findings"][0] if done.result["findings"] else {"label": "none", "title": ""}
    assert done.stdout.startswith("[✓]") == (finding["label"] == "none"), done.stdout
    return f"{finding['label']}: {finding['title']}"


def test_what_a_value_keeps_is_found_by_computing_it(doctor: Doctor) -> None:
    assert look(doctor, "0.01").startswith("leak_growth")


def test_what_no_value_keeps_is_all_well(doctor: Doctor) -> None:
    assert look(doctor, "1e9") == "none: "


def test_a_branch_that_was_not_computed_is_no_all_clear(doctor: Doctor) -> None:
    assert look(doctor, "0.01", "--values", "zeros") == (
        "unknown: Nothing grew, but a branch hangs on a value that a virtual card does not compute"
    )
