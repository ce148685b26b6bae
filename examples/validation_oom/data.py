"""Random scenes: stand-ins for a real dataset, made on the fly so that nothing has to be downloaded."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils.data import Dataset


class RandomScenes(Dataset):
    """``length`` images (3, H, W) with label maps (H, W); the same index always gives the same scene."""

    def __init__(self, length: int, size: tuple[int, int], classes: int) -> None:
        self.length = length
        self.width, self.height = size
        self.classes = classes

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(index)
        coarse = torch.randint(0, self.classes, (1, 1, 8, 8), generator=generator).float()
        label = torch.nn.functional.interpolate(coarse, (self.height, self.width), mode="nearest")[0, 0].long()
        image = (label / self.classes).expand(3, -1, -1) + 0.1 * torch.rand(1, self.height, 1, generator=generator)
        return image.contiguous(), label


class EagerBatch:
    """A batch that goes to the GPU in the loader's pin thread, "to save time in the loop".

    The thread runs ahead of the loop: the one-hot targets of the next batches are on the GPU beside the current one.
    """

    def __init__(self, samples: list[tuple[Tensor, Tensor]], classes: int) -> None:
        self.images = torch.stack([image for image, _ in samples])
        self.labels = torch.stack([label for _, label in samples])
        self.classes = classes

    def pin_memory(self) -> EagerBatch:
        self.images = self.images.pin_memory().cuda(non_blocking=True)
        labels = self.labels.pin_memory().cuda(non_blocking=True)
        self.labels = torch.nn.functional.one_hot(labels, self.classes)
        return self

    def __iter__(self) -> Iterator[Tensor]:
        return iter((self.images, self.labels))
