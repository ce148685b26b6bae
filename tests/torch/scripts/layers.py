"""The model that the several-card scripts share: equal linear layers, so that bytes can be worked out by hand."""

from __future__ import annotations

import torch
from torch import nn

WIDTH = 1024
LAYERS = 8


class Stack(nn.Module):
    """LAYERS x (Linear(WIDTH, WIDTH) without bias, ReLU): 4 MiB of float32 a layer."""

    def __init__(self, layers: int = LAYERS, width: int = WIDTH) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int = 3, batch: int = 16) -> None:
    for _ in range(steps):
        x = torch.randn(batch, WIDTH, device="cuda")
        model(x).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
