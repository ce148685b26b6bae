"""Momentum contrast whose queue of keys is never cut to its length."""

import copy

import torch
from torch import nn

query = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 128)).cuda()
key = copy.deepcopy(query)
opt = torch.optim.SGD(query.parameters(), lr=0.03)
keys_queue = torch.randn(1024, 128, device="cuda")
for step in range(100):
    x = torch.randn(256, 256, device="cuda")
    q = query(x)
    with torch.no_grad():
        for kp, qp in zip(key.parameters(), query.parameters()):
            kp.mul_(0.999).add_(qp, alpha=0.001)
        k = key(x)
    logits = torch.cat([(q * k).sum(1, keepdim=True), q @ keys_queue.T], dim=1)
    loss = nn.functional.cross_entropy(logits / 0.07, torch.zeros(256, dtype=torch.long, device="cuda"))
    opt.zero_grad()
    loss.backward()
    opt.step()
    keys_queue = torch.cat([keys_queue, k])
