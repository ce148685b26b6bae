"""Cutting a large image into overlapping tiles and putting their results together again."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor


def tile_starts(length: int, tile: int, overlap: int, stride: int) -> list[int]:
    """Where tiles begin along one side, so that all of it is covered; every start is a multiple of ``stride``.

    The last tile ends at or beyond ``length``: the image is padded to there.
    """
    step = tile - overlap
    if step <= 0 or step % stride or tile % stride:
        raise ValueError(f"tile {tile} and tile - overlap {step} must be positive multiples of {stride}")
    starts = [0]
    while starts[-1] + tile < length:
        starts.append(starts[-1] + step)
    return starts


def tiles(image: Tensor, tile: int, overlap: int, stride: int) -> Iterator[tuple[int, int, Tensor]]:
    """Yields (top, left, part) with part (C, tile, tile); parts that reach over the edge are padded with zeros."""
    height, width = image.shape[-2:]
    for top in tile_starts(height, tile, overlap, stride):
        for left in tile_starts(width, tile, overlap, stride):
            part = image[:, top : top + tile, left : left + tile]
            pad = (0, tile - part.shape[2], 0, tile - part.shape[1])
            yield top, left, torch.nn.functional.pad(part, pad)


class Stitcher:
    """Adds up tile results on a map of the whole image; where tiles overlap, a tile's middle counts most.

    Lives on the host: only one tile's result is ever on the GPU.
    """

    def __init__(self, channels: int, height: int, width: int, stride: int) -> None:
        self.stride = stride
        self.size = (-(-height // stride), -(-width // stride))
        self.total = torch.zeros(channels, *self.size)
        self.weight = torch.zeros(*self.size)

    def add(self, top: int, left: int, result: Tensor) -> None:
        """result: (channels, h, w), the map of the tile whose corner is (top, left) in image pixels."""
        y, x = top // self.stride, left // self.stride
        height = min(result.shape[1], self.size[0] - y)
        width = min(result.shape[2], self.size[1] - x)
        weight = ramp(result.shape[1])[:height, None] * ramp(result.shape[2])[None, :width]
        self.total[:, y : y + height, x : x + width] += result[:, :height, :width].float().cpu() * weight
        self.weight[y : y + height, x : x + width] += weight

    def result(self) -> Tensor:
        return self.total / self.weight.clamp(min=1e-6)


def ramp(length: int) -> Tensor:
    """1 at the ends, rising by 1 per cell towards the middle."""
    position = torch.arange(length, dtype=torch.float32)
    return torch.minimum(position, length - 1 - position) + 1
