"""Augmentation of a whole batch on the GPU: quick, but its temporaries live next to the model."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from transforms import MEAN, STD


class GpuAugment(nn.Module):
    """Random flip and colour jitter per image, then normalization; images come in as uint8 (N, 3, H, W)."""

    def __init__(self, strength: float = 0.5) -> None:
        super().__init__()
        self.strength = strength
        self.register_buffer("mean", torch.tensor(MEAN).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor(STD).view(1, 3, 1, 1))
        self.register_buffer("luma", torch.tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1))

    @torch.no_grad()
    def forward(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        images = images.float() / 255
        flip = torch.rand(len(images), device=images.device) < 0.5
        images = torch.where(flip.view(-1, 1, 1, 1), images.flip(-1), images)
        labels = torch.where(flip.view(-1, 1, 1), labels.flip(-1), labels)

        images = images * self._factors(images)
        grey = (images * self.luma).sum(1, keepdim=True)
        mean = grey.mean((2, 3), keepdim=True)
        images = mean + (images - mean) * self._factors(images)
        grey = (images * self.luma).sum(1, keepdim=True)
        images = grey + (images - grey) * self._factors(images)
        return (images.clamp(0, 1) - self.mean) / self.std, labels

    def _factors(self, images: Tensor) -> Tensor:
        noise = torch.rand(len(images), 1, 1, 1, device=images.device)
        return 1 + self.strength * (2 * noise - 1)
