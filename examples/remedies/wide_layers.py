"""Weights, gradients and Adam's state are most of what this training holds."""

from __future__ import annotations

import torch
from torch import nn

model = nn.Sequential(*(nn.Sequential(nn.Linear(2048, 2048), nn.ReLU()) for _ in range(16))).cuda()
optimizer = torch.optim.AdamW(model.parameters())
data = torch.utils.data.TensorDataset(torch.randn(1024, 2048))
for (samples,) in torch.utils.data.DataLoader(data, batch_size=64):
    loss = model(samples.cuda()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
