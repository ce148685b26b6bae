"""One job for all finders: a residual network on images, AdamW, in float32; the data is made up as it is read."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

CLASSES = 10


class Images(Dataset):
    def __init__(self, size: int, count: int = 2048) -> None:
        self.image = torch.zeros(3, size, size)
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return self.image, index % CLASSES


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.convs = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.convs(x))


def make_network(width: int = 64) -> nn.Module:
    stages: list[nn.Module] = [nn.Conv2d(3, width, 7, stride=2, padding=3)]
    for stage in range(4):
        stages += [Block(width << stage), Block(width << stage)]
        if stage < 3:
            stages.append(nn.Conv2d(width << stage, width << (stage + 1), 3, stride=2, padding=1))
    return nn.Sequential(*stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width << 3, CLASSES))


def make_loader(batch: int, size: int) -> DataLoader:
    return DataLoader(Images(size), batch_size=batch, drop_last=True)
