"""The best k models by loss; only pushed, never popped."""

import copy
import heapq
import itertools

import torch
from torch import nn

net = nn.Sequential(nn.Linear(400, 400), nn.Tanh(), nn.Linear(400, 1)).cuda()
opt = torch.optim.Adagrad(net.parameters())
best, tick = [], itertools.count()
for step in range(120):
    x = torch.randn(50, 400, device="cuda")
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 4:
        heapq.heappush(best, (float(step), next(tick), copy.deepcopy(net)))
print(len(best), "models")
