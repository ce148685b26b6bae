"""Graphs of past steps that a training loop keeps are named; what holds none is not."""

from __future__ import annotations

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

TRAINING = """
    import torch
    from torch import nn
    model = nn.Sequential(nn.Linear(256, 4096), nn.Tanh(), nn.Linear(4096, 1)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    kept, total = [], 0
    for step in range(8):
        x = torch.randn(256, 256, device="cuda")
        loss = model(x).mean()
        optimizer.zero_grad()
        loss.backward({retain})
        optimizer.step()
        {after}
"""


@pytest.mark.parametrize(("after", "name"), [("kept.append(loss)", "kept"), ("total += loss", "total")])
def test_kept_graphs_of_steps_are_named_with_their_line(job: Job, after: str, name: str) -> None:
    finished = job.run(TRAINING.format(retain="retain_graph=True", after=after), card=8 << 30)
    note = finished.only("graphs_kept")
    assert note["variable"] == name
    assert note["line"].startswith("train.py:13")
    assert note["bytes_per_step"] >= 256 * 4096 * 4


@pytest.mark.parametrize(
    ("retain", "after"), [("", "kept.append(loss)"), ("", "kept.append(x)"), ("retain_graph=True", "pass")]
)
def test_graphs_that_hold_nothing_are_not(job: Job, retain: str, after: str) -> None:
    finished = job.run(TRAINING.format(retain=retain, after=after), card=8 << 30)
    assert finished.exit_code == 0, finished.stderr
    assert not finished.of_kind("graphs_kept")
