"""A ResNet-34 encoder with a light decoder for dense prediction: 21.5 million parameters."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class BasicBlock(nn.Module):
    def __init__(self, in_channels: int, channels: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or in_channels != channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_channels, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(out)) + self.shortcut(x))


def stage(in_channels: int, channels: int, blocks: int, stride: int) -> nn.Sequential:
    rest = [BasicBlock(channels, channels) for _ in range(blocks - 1)]
    return nn.Sequential(BasicBlock(in_channels, channels, stride), *rest)


class SceneParser(nn.Module):
    """Images (N, 3, H, W) to logits (N, classes, H, W)."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        widths, blocks = (64, 128, 256, 512), (3, 4, 6, 3)
        self.stages = nn.ModuleList(
            [
                stage(before, width, count, stride=1 if before == width else 2)
                for before, width, count in zip((64, *widths), widths, blocks)
            ]
        )
        self.lateral = nn.ModuleList([nn.Conv2d(width, 128, 1) for width in widths])
        self.head = nn.Sequential(nn.Conv2d(128, 64, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(64, classes, 1))

    def forward(self, images: Tensor) -> Tensor:
        x = self.stem(images)
        maps = []
        for level, lateral in zip(self.stages, self.lateral):
            x = level(x)
            maps.append(lateral(x))
        size = maps[0].shape[2:]
        merged = torch.stack([F.interpolate(m, size, mode="bilinear", align_corners=False) for m in maps]).sum(0)
        return F.interpolate(self.head(merged), images.shape[2:], mode="bilinear", align_corners=False)
