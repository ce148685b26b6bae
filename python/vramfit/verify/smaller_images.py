"""Images of which a comparison needs only a few rows and columns: every n-th of what a loader gives, and of the label
maps that lie over them.

A network's largest cost on the CPU is the number of its pixels. One n serves both sides of all images of a batch, so
that what lies over each other still does. It leaves sides that can be halved as often as those of the whole image, up
to five times: as networks do, on whose way up every size has to come out again. Batches that hold places in an image
(boxes, key points), or maps of other sizes, are left alone.
"""

from __future__ import annotations

from typing import Any

from vramfit.base import notes
from vramfit.contract import notes as said
from vramfit.observe.loaders import Pass
from vramfit.verify.batch_tensors import every_nth, exchanged, is_whole, named_tensors

_MOST_CHANNELS = 16  # of an image; what has more are features
_MOST_COLOURS = 4
_HALVED = 32  # a side that can be halved five times
_OF_A_BOX = (2, 4, 5)  # numbers a row that may be places


class SmallerImages:
    def __init__(self, side: int) -> None:
        self._side = side  # of an image, at least
        self._has_told = False

    def __call__(self, this_pass: Pass, batch: Any) -> Any:
        tensors = [tensor for _, tensor in named_tensors(batch)]
        sizes = {(int(tensor.shape[at]), int(tensor.shape[at + 1])) for tensor in tensors for at in _image_dims(tensor)}
        step = self._step(sizes)
        if step == 1 or any(_is_in_the_way(tensor, sizes) for tensor in tensors):
            return batch
        if not self._has_told:
            self._has_told = True
            height, width = max(sizes)
            notes.note(said.ImagesCut(height=-(-height // step), width=-(-width // step)))
        return exchanged(batch, lambda tensor: _thinned(tensor, sizes, step))

    def _step(self, sizes: set[tuple[int, int]]) -> int:
        sides = {side for size in sizes for side in size}
        for step in range(min(sides, default=0) // self._side, 1, -1):
            if all(_stays_alike(side, step) for side in sides):
                return step
        return 1


def _stays_alike(side: int, step: int) -> bool:
    """Whether every n-th of so many can be halved as often: 1024 or, where corners are aligned, 1025."""
    for even in (side, side - 1):
        times = min(even & -even, _HALVED)
        if times > 1:
            return even % step == 0 and even // step % times == 0
    return False


def _image_dims(tensor: Any) -> list[int]:
    """Where the rows of an image are, with its columns behind them: [N, C, H, W], [N, T, C, H, W] or [N, H, W, C]."""
    if tensor.dim() not in (4, 5):
        return []
    if tensor.shape[-1] <= _MOST_COLOURS < min(tensor.shape[-3:-1]):
        return [tensor.dim() - 3]
    return [tensor.dim() - 2] if tensor.shape[-3] <= _MOST_CHANNELS or tensor.shape[1] <= _MOST_CHANNELS else []


def _map_dims(tensor: Any, sizes: set[tuple[int, int]]) -> list[int]:
    """Where rows and columns of one of these sizes are, one behind the other."""
    return [at for at in range(1, tensor.dim() - 1) if (int(tensor.shape[at]), int(tensor.shape[at + 1])) in sizes]


def _is_in_the_way(tensor: Any, sizes: set[tuple[int, int]]) -> bool:
    if tensor.numel() == 0:
        return True
    if tensor.dim() > 2:
        return not _map_dims(tensor, sizes)
    sides = {side for size in sizes for side in size}
    if tensor.dim() == 2 and is_whole(tensor):
        return int(tensor.shape[1]) in _OF_A_BOX
    if tensor.dim() == 2:
        return bool(1 < float(tensor.max()) <= max(sides))
    return is_whole(tensor) and {int(number) for number in tensor.reshape(-1)} <= sides


def _thinned(tensor: Any, sizes: set[tuple[int, int]], step: int) -> Any:
    for dim in {dim for at in _map_dims(tensor, sizes) for dim in (at, at + 1)}:  # of a cube three, each once
        tensor = every_nth(tensor, dim, step)
    return tensor.contiguous()
