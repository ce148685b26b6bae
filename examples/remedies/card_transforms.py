"""Batches are augmented on the card, in copies of their full size."""

from __future__ import annotations

import torch
from torch import nn
from torchvision.transforms import v2

model = nn.Sequential(
    nn.Conv2d(3, 16, 3, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)
)
model.cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
augment = v2.Compose([v2.RandomHorizontalFlip(), v2.ColorJitter(0.3, 0.3, 0.3), v2.GaussianBlur(5)])
data = torch.utils.data.TensorDataset(torch.rand(64, 3, 512, 512), torch.randint(0, 10, (64,)))
for images, labels in torch.utils.data.DataLoader(data, batch_size=32):
    loss = nn.functional.cross_entropy(model(augment(images.cuda())), labels.cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
