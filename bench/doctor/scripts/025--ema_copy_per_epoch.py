"""Stochastic weight averaging that keeps each average."""

from copy import deepcopy

import torch
from torch import nn

net = nn.Sequential(
    nn.Conv2d(3, 64, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.Flatten(), nn.Linear(64 * 144, 10)
).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
averages = [deepcopy(net)]
for epoch in range(10):
    for _ in range(12):
        x = torch.randn(16, 3, 16, 16, device="cuda")
        loss = nn.functional.cross_entropy(net(x), torch.randint(0, 10, (16,), device="cuda"))
        opt.zero_grad()
        loss.backward()
        opt.step()
    ema = deepcopy(averages[-1])
    with torch.no_grad():
        for a, p in zip(ema.parameters(), net.parameters()):
            a.mul_(0.9).add_(p, alpha=0.1)
    averages.append(ema)
