# vramfit doctor --gpu rtx3060 -- python gpu_augmentation.py
import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Sequential(
    nn.Conv2d(3, 16, 3, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)
)
model.cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def augment(images: torch.Tensor) -> torch.Tensor:
    bright = images * 1.2  # four copies of the batch, at full size
    gray = images.mean(1, keepdim=True).expand_as(images).contiguous()
    mixed = 0.7 * bright + 0.3 * gray
    return torch.cat([mixed, mixed.flip(3)])


for images in DataLoader([torch.zeros(3, 1024, 1024)] * 64, batch_size=16):
    loss = model(augment(images.cuda())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
