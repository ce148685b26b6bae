"""Who else is on the card: workers, the pin thread, other ranks; and checkpoints that stay there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Diagnose = Callable[..., dict[str, Any]]

MIB = 1 << 20


def test_a_worker_that_touches_the_card_has_a_context_of_its_own(diagnose: Diagnose) -> None:
    text = """
import sys, torch
from torch.utils.data import DataLoader, Dataset
class Images(Dataset):
    def __len__(self): return 64
    def __getitem__(self, index):
        image = torch.rand(3, 32, 32)
        return image.cuda().mean(0).cpu() if "card" in sys.argv else image.mean(0)
if __name__ == "__main__":
    model = torch.nn.Linear(32, 4).cuda()
    for images in DataLoader(Images(), 8, num_workers=2, multiprocessing_context="spawn"):
        model(images.cuda())
"""
    contexts = diagnose(text, "card")["contexts"]
    assert sorted(context["role"] for context in contexts) == ["main", "worker", "worker"]
    assert all(context["context_bytes"] > 100 * MIB for context in contexts)
    (only,) = diagnose(text)["contexts"]
    assert only["role"] == "main"


PIN_THREAD = """
import sys, time, torch
from torch.utils.data import DataLoader, Dataset
class Images(Dataset):
    def __len__(self): return 96
    def __getitem__(self, index):
        time.sleep(0.02)  # slower than a virtual card
        return torch.zeros(64, 64, dtype=torch.long)
class Batch:
    def __init__(self, samples): self.images = torch.stack(samples)
    def pin_memory(self):
        self.images = self.images.pin_memory()
        if "early" in sys.argv: self.images = self.prepare(self.images.cuda())
        return self
    def prepare(self, images): return torch.nn.functional.one_hot(images, 16)
model = torch.nn.Linear(16, 4).cuda()
for batch in DataLoader(Images(), 8, collate_fn=Batch, pin_memory=True, num_workers=1, prefetch_factor=3):
    images = batch.images if batch.images.dim() > 3 else batch.prepare(batch.images.cuda())
    model(images.float())
    del images
"""


def test_the_pin_thread_that_prepares_batches_on_the_card(diagnose: Diagnose) -> None:
    (thread,) = diagnose(PIN_THREAD, "early")["threads"]
    assert thread["role"] == "pin"
    assert thread["line"].endswith("Batch.prepare")
    assert diagnose(PIN_THREAD)["threads"] == []


def test_a_slow_loader_is_taken_to_be_as_far_ahead_as_it_gets(diagnose: Diagnose) -> None:
    (thread,) = diagnose(PIN_THREAD, "early")["threads"]
    batch = 8 * 64 * 64 * 16 * 8
    assert 4 * batch <= thread["peak_bytes"] < 5 * batch  # one in the loop, three ahead of it


def test_every_rank_that_opens_a_context_on_the_first_card(diagnose: Diagnose) -> None:
    text = """
import os, sys, torch
import torch.multiprocessing as mp
def work(rank):
    os.environ["RANK"], os.environ["LOCAL_RANK"], os.environ["WORLD_SIZE"] = str(rank), str(rank), "2"
    torch.zeros(1).cuda(0 if "first" in sys.argv else rank)
    torch.nn.Linear(8, 8).to(f"cuda:{rank}")
if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
"""
    contexts = diagnose(text, "first", gpu="2xrtx3060")["contexts"]
    on = sorted((context["device"], context["rank"]) for context in contexts)
    assert on == [(0, 0), (0, 1), (1, 1)]
    contexts = diagnose(text, gpu="2xrtx3060")["contexts"]
    assert sorted((context["device"], context["rank"]) for context in contexts) == [(0, 0), (1, 1)]


@pytest.mark.warm
def test_checkpoints_that_stay_on_the_card(diagnose: Diagnose) -> None:
    text = """
import sys, torch
from torch import nn
model = nn.Linear(2048, 2048).cuda()
torch.save({"model": model.state_dict()}, "state.pt")
def resume(where):
    state = torch.load("state.pt", map_location=where)
    model.load_state_dict(state["model"])
    return state
checkpoint = resume("cpu" if "host" in sys.argv else "cuda")
if "drop" in sys.argv: del checkpoint
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    model(torch.randn(8, 2048).cuda()).sum().backward()
    optimizer.step()
"""
    (load,) = diagnose(text, options=("--steps", "all"))["checkpoints"]
    weights = (2048 * 2048 + 2048) * 4
    assert (load["on_card_bytes"], load["kept_bytes"]) == (weights, weights)
    assert load["map_location"] == "cuda"
    assert load["holder"]["name"].startswith("checkpoint['model']")
    assert load["line"].endswith("in resume")
    (load,) = diagnose(text, "drop", options=("--steps", "all"))["checkpoints"]
    assert (load["on_card_bytes"], load["kept_bytes"]) == (weights, 0)
    assert diagnose(text, "host", options=("--steps", "all"))["checkpoints"] == []


@pytest.mark.warm
def test_at_an_error_the_variables_are_named(diagnose: Diagnose) -> None:
    evidence = diagnose(
        """
import torch
features = []
def extract():
    stored = torch.zeros(100, 1 << 20, device="cuda")
    for step in range(100):
        features.append(torch.zeros(64 << 20, device="cuda"))
extract()
""",
        gpu="rtx3060:2GiB",
        fails=True,
    )
    oom = evidence["oom"]
    assert oom["line"].endswith("in extract")
    assert oom["tried_bytes"] == 256 << 20
    named = {held["holder"]["name"].split("[")[0]: held for held in oom["holders"]}
    assert set(named) == {"features", "stored"}
    assert named["stored"]["bytes"] == 100 << 22
    assert named["features"]["bytes"] % (256 << 20) == 0
    assert named["features"]["line"].endswith("in extract")
