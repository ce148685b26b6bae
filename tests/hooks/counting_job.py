"""A job that trains past its budget, whose loops are counted on."""

from __future__ import annotations

from typing import Any

from hooked_job import Finished, Job

STEP = """
    import json, torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    def train_on(x):
        optimizer.zero_grad(); model(x).sum().backward(); optimizer.step()
    def loader(batches):
        return DataLoader(TensorDataset(torch.ones(4 * batches, 4)), 4, shuffle=True)
    done = []
"""


def run(job: Job, text: str, within: str = "40n", **extra: Any) -> Finished:
    finished = job.run(STEP + text, steps="auto", VRAMFIT_RUN_ON=within, **extra)
    assert finished.of_kind("hook_failed") == []
    return finished


def counted(finished: Finished) -> list[str]:
    return [note["text"] for note in finished.of_kind("cut") if note["what"] == "counted"]


def opened(finished: Finished) -> list[str]:
    return [note["text"] for note in finished.of_kind("open")]
