"""cycle() keeps a copy of all that it has given, to give it again."""

import itertools

import torch
from torch import nn


def batches(n):
    for _ in range(n):
        yield torch.randn(64, 3, 32, 32, device="cuda")


model = nn.Sequential(nn.Flatten(), nn.Linear(3072, 64), nn.ReLU(), nn.Linear(64, 10)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
source = itertools.cycle(batches(5000))
for step in range(120):
    loss = model(next(source)).logsumexp(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
