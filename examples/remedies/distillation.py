"""A small network learns from a large one: while it trains, the card holds both."""

from __future__ import annotations

import torch
from torch import nn


def make_network(width: int, layers: int) -> nn.Module:
    blocks = (nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(layers))
    return nn.Sequential(nn.Linear(256, width), *blocks, nn.Linear(width, 10))


teacher = make_network(4096, 12).cuda().eval()
student = make_network(512, 4).cuda()
optimizer = torch.optim.Adam(student.parameters())
data = torch.utils.data.TensorDataset(torch.randn(32768, 256))
for (samples,) in torch.utils.data.DataLoader(data, batch_size=8192):
    samples = samples.cuda()
    with torch.no_grad():
        wanted = teacher(samples).softmax(1)
    loss = nn.functional.kl_div(student(samples).log_softmax(1), wanted, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
