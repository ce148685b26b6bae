"""torch.compile of a small network: the mode and what is compiled are named on the command line."""

from __future__ import annotations

import sys

import torch
from rank_report import report
from torch import nn


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 10)).cuda()


def train(mode: str | None, batches: list[int], dynamic: bool | None = None) -> None:
    model = network()
    compiled = torch.compile(model, mode=mode, dynamic=dynamic)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in batches:
        x = torch.randn(batch, 64, device="cuda")
        y = torch.randint(0, 10, (batch,), device="cuda")
        loss = nn.functional.cross_entropy(compiled(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()


def count_graphs() -> int:
    from torch._dynamo.utils import counters

    return counters["stats"]["unique_graphs"]


kind = sys.argv[1]
if kind == "eager":
    for size in [32] * 4:
        torch.nn.functional.cross_entropy(
            network()(torch.randn(size, 64, device="cuda")), torch.zeros(size).long().cuda()
        )
    report(graphs=0)
else:
    mode = {"default": None, "reduce-overhead": "reduce-overhead", "dynamic": None}[kind]
    train(mode, [32, 48, 64, 80] if kind == "dynamic" else [32] * 5, True if kind == "dynamic" else None)
    report(graphs=count_graphs())
