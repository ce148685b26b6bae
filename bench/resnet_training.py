"""The bench's job: ResNet-50 trained with AdamW as a user would write it, validated after each pass.

Without --steps it is an ordinary script: 100 epochs over a data set, to be cut short by vramfit. With --steps it times
that many steps and prints one JSON line: the median milliseconds of a step and the peak.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--steps", type=int)
options = parser.parse_args()


def build() -> tuple[nn.Module, torch.optim.Optimizer]:
    from torchvision.models import resnet50

    model = resnet50().to(options.device)
    return model, torch.optim.AdamW(model.parameters())


class Pictures(Dataset):
    """12800 pictures that need no reading: the bench measures the run, not a disk."""

    def __len__(self) -> int:
        return 12800

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.full((3, 224, 224), index / 12800), index % 1000


def train() -> None:
    model, optimizer = build()
    loader = DataLoader(Pictures(), batch_size=options.batch, shuffle=True)
    for _ in range(100):
        model.train()
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x.to(options.device)), y.to(options.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for x, _y in loader:
                model(x.to(options.device))


def time_steps() -> None:
    model, optimizer = build()
    x = torch.randn(options.batch, 3, 224, 224).to(options.device)
    y = torch.randint(0, 1000, (options.batch,)).to(options.device)
    took = []
    for _ in range(options.steps + 1):
        begin = time.perf_counter()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
        if options.device == "cuda":
            torch.cuda.synchronize()
        took.append(1e3 * (time.perf_counter() - begin))
    peak = torch.cuda.max_memory_allocated() if options.device == "cuda" else None
    print(json.dumps({"step_ms": statistics.median(took[1:]), "peak_bytes": peak}), flush=True)  # the first warms up


if options.steps:
    time_steps()
else:
    train()
