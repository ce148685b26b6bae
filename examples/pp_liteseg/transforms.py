"""Augmentation on the CPU: each transform takes and returns a PIL image and its label map."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import torch
from PIL import Image, ImageEnhance, ImageOps
from torch import Tensor

from classes import IGNORE

MEAN = (0.5, 0.5, 0.5)
STD = (0.5, 0.5, 0.5)

Pair = tuple[Image.Image, Image.Image]


class RandomScale:
    """Scales both by one of ``low``, ``low + step``, ... ``high``."""

    def __init__(self, low: float = 0.5, high: float = 2.0, step: float = 0.25) -> None:
        self.factors = np.arange(low, high + step / 2, step)

    def __call__(self, image: Image.Image, label: Image.Image) -> Pair:
        factor = float(random.choice(self.factors))
        size = (round(image.width * factor), round(image.height * factor))
        return image.resize(size, Image.Resampling.BILINEAR), label.resize(size, Image.Resampling.NEAREST)


class RandomCrop:
    """A window of ``size`` (width, height); smaller images are padded, their labels with IGNORE."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.width, self.height = size

    def __call__(self, image: Image.Image, label: Image.Image) -> Pair:
        pad = (0, 0, max(self.width - image.width, 0), max(self.height - image.height, 0))
        if any(pad):
            image = ImageOps.expand(image, pad, fill=(127, 127, 127))
            label = ImageOps.expand(label, pad, fill=IGNORE)
        left = random.randint(0, image.width - self.width)
        top = random.randint(0, image.height - self.height)
        box = (left, top, left + self.width, top + self.height)
        return image.crop(box), label.crop(box)


class RandomFlip:
    def __call__(self, image: Image.Image, label: Image.Image) -> Pair:
        if random.random() < 0.5:
            return ImageOps.mirror(image), ImageOps.mirror(label)
        return image, label


class ColourJitter:
    """Brightness, contrast and saturation, each by a factor in [1 - strength, 1 + strength]."""

    def __init__(self, strength: float = 0.5) -> None:
        self.strength = strength

    def __call__(self, image: Image.Image, label: Image.Image) -> Pair:
        for enhance in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
            image = enhance(image).enhance(random.uniform(1 - self.strength, 1 + self.strength))
        return image, label


class ToTensor:
    """Image to float (3, H, W), normalized; label to int64 (H, W)."""

    def __call__(self, image: Image.Image, label: Image.Image) -> tuple[Tensor, Tensor]:
        pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1).float().div_(255)
        mean, std = torch.tensor(MEAN).view(3, 1, 1), torch.tensor(STD).view(3, 1, 1)
        return pixels.sub_(mean).div_(std), torch.from_numpy(np.array(label)).long()


class ToBytes:
    """Image to uint8 (3, H, W); label to int64 (H, W): the rest happens on the GPU."""

    def __call__(self, image: Image.Image, label: Image.Image) -> tuple[Tensor, Tensor]:
        return torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous(), torch.from_numpy(np.array(label)).long()


class Compose:
    def __init__(self, *steps: Callable) -> None:
        self.steps = steps

    def __call__(self, image: Image.Image, label: Image.Image) -> tuple[Tensor, Tensor]:
        for step in self.steps:
            image, label = step(image, label)
        return image, label


def training_transform(crop_size: tuple[int, int]) -> Compose:
    return Compose(RandomScale(), RandomCrop(crop_size), RandomFlip(), ColourJitter(), ToTensor())


def gpu_training_transform(crop_size: tuple[int, int]) -> Compose:
    """What has to happen before batching; GpuAugment does the rest."""
    return Compose(RandomScale(), RandomCrop(crop_size), ToBytes())


def evaluation_transform() -> Compose:
    return Compose(ToTensor())
