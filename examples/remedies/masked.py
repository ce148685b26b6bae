"""Pruning by masks, as torch.nn.utils.prune does it, and fine-tuning."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils import prune

model = nn.Sequential(*(nn.Sequential(nn.Linear(2048, 2048), nn.ReLU()) for _ in range(12))).cuda()
for block in model:
    prune.l1_unstructured(block[0], "weight", amount=0.5)
optimizer = torch.optim.Adam(model.parameters())
data = torch.utils.data.TensorDataset(torch.randn(4096, 2048))
for (samples,) in torch.utils.data.DataLoader(data, batch_size=1024):
    loss = model(samples.cuda()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
