"""Whether a set of tensors is a copy of a model's weights, by shapes: values are not computed on a virtual card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_SHARE = 0.9  # of the numbers that must be found again
_LEAST = 1 << 14  # numbers: below, shapes coincide by chance
_FLAT = 1e-3  # by how much one flat tensor may differ from a model's size (alignment)

Shapes = Counter[tuple[int, ...]]


def shapes_of(tensors: Iterable[Any]) -> Shapes:
    return Counter(tuple(tensor.shape) for tensor in tensors)


def numbers_in(shapes: Shapes) -> int:
    total = 0
    for shape, count in shapes.items():
        size = count
        for length in shape:
            size *= length
        total += size
    return total


@dataclass
class Likeness:
    """The weights of one model: all of them, or those that are trained."""

    shapes: Shapes
    width: int  # bytes of its narrowest float

    def covers(self, others: Shapes, may_be_flat: bool = False) -> bool:
        """Whether `others` are this model's weights again, and little else."""
        own, theirs = numbers_in(self.shapes), numbers_in(others)
        if own < _LEAST or theirs < _LEAST:
            return False
        shared = numbers_in(self.shapes & others)
        if shared >= _SHARE * own and shared >= _SHARE * theirs:
            return True
        return may_be_flat and len(others) == 1 and abs(own - theirs) <= _FLAT * own


def likenesses(weights: list[Any], trained: list[Any]) -> list[Likeness]:
    floats = [weight.dtype.itemsize for weight in weights if weight.dtype.is_floating_point]
    width = min(floats, default=0)
    found = [Likeness(shapes_of(weights), width)]
    if trained and len(trained) != len(weights):
        found.append(Likeness(shapes_of(trained), width))
    return found
