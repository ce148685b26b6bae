"""Warm restarts that make an optimizer anew; the old schedulers hold the old ones with their state."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512)).cuda()
schedulers = []
optimizer = None
for step in range(150):
    if step % 10 == 0:
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        schedulers.append(torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10))
    x = torch.randn(32, 512, device="cuda")
    loss = (model(x) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedulers[-1].step()
