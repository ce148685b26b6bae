"""Two ranks whose loop counts to a step that asks for more."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = nn.parallel.DistributedDataParallel(nn.Linear(256, 256).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(rows: int) -> None:
    model(torch.ones(rows, 256).cuda()).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


for step in range(5000):
    train(2000 if step == 4000 else 64)
dist.destroy_process_group()
