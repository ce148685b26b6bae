"""A compiled network whose activations are most of what it holds; `--backend aot_eager` needs no compiler of C."""

from __future__ import annotations

import argparse

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.narrow(nn.functional.gelu(self.widen(self.norm(x))))


parser = argparse.ArgumentParser()
parser.add_argument("--backend", default="inductor")
options = parser.parse_args()
model = nn.Sequential(*[Block(512) for _ in range(4)], nn.Linear(512, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
compiled = torch.compile(model, backend=options.backend)
data = torch.utils.data.TensorDataset(torch.rand(32768, 512), torch.randint(0, 10, (32768,)))
for rows, labels in torch.utils.data.DataLoader(data, batch_size=8192):
    loss = nn.functional.cross_entropy(compiled(rows.cuda()), labels.cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
