"""Blocks that training leaves in PyTorch's cache are too large for evaluation's, and what is over too small."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import DataLoader


def train(model: nn.Module, optimizer: torch.optim.Optimizer, loader: DataLoader) -> None:
    model.train()
    for points in loader:
        loss = model(points.cuda()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def evaluate(model: nn.Module, loader: DataLoader) -> float:
    model.eval()
    with torch.no_grad():
        for points in loader:
            scores = [model(points.cuda() + shift) for shift in range(6)]
        return float(sum(score.mean() for score in scores))


model = nn.Sequential(nn.Linear(1, 1024), nn.Linear(1024, 1024)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
points = torch.ones(4 * 131072, 1)
train(model, optimizer, DataLoader(points, batch_size=131072))
print(evaluate(model, DataLoader(points[:81920], batch_size=81920)))
