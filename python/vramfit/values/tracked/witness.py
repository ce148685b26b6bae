"""Values that a tensor could have, for one whose values are not known but needed.

Floating-point values are spread evenly over (0, 1), no two alike along the last dimension: masks made of them select a
part, sorting them has one answer, checks for NaN, infinity and sign pass. The largest stand where the golden ratio
divides a row: what a program finds with argmax or top-k is away from both ends, where special entries are kept
(padding, the end of a text, background). With as many rows as entries the place moves on from row to row, so that rows
spread evenly: tokens over experts, pixels over classes.

A single value shrinks each time its line asks for one: losses fall, and iterations that go on until an error is small
come to an end.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from vramfit.base import process
from vramfit.values.tracked import lines, states

GOLDEN = (math.sqrt(5) - 1) / 2
_SHRINK = 0.9


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.asked: dict[object, int] = {}  # values, by line


_state = process.own(_State)


def give_values(tensor: Tensor) -> None:
    """Gives `tensor`, of which nothing is known, values in place. Whole numbers and booleans are 0: always valid."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        states.set_state(tensor, states.OPEN if tensor.dtype == torch.bool else states.ASSUMED)
        return
    unique = _without_repeats(tensor)
    numel = unique.numel()
    with torch.no_grad():
        value = torch.tensor(_shrinking()) if numel == 1 else _spread(tuple(unique.shape))
        states.put(unique, value.to(unique.dtype).reshape(unique.shape), states.ASSUMED)


def _without_repeats(tensor: Tensor) -> Tensor:
    """An expanded tensor's own elements."""
    for dim, stride in enumerate(tensor.stride()):
        if stride == 0 and tensor.size(dim) > 1:
            tensor = tensor.narrow(dim, 0, 1)
    return tensor


@process.cached(32)
def _spread(shape: tuple[int, ...]) -> Tensor:
    entries = shape[-1]
    rows = math.prod(shape[:-1])
    places = torch.arange(entries)
    if entries == 1:  # a column: what differs is the row
        return ((torch.arange(rows) * GOLDEN + 0.5) % 1.0).clamp(1e-3, 1 - 1e-3).view(shape)
    peak = int(entries * GOLDEN)
    moves = torch.arange(rows) if rows > 1 else torch.zeros(1, dtype=torch.int64)
    moves = moves % entries if rows >= entries else moves % max(1, entries // 4)
    away = (places.unsqueeze(0) - peak - moves.unsqueeze(1)) % entries
    # The nearest is the largest; a step to the right is nearer than the same step to the left.
    rank = torch.where(away <= entries // 2, 2 * away, 2 * (entries - away) - 1)
    return ((entries - rank.clamp(max=entries - 1)).double() / (entries + 1)).float().view(shape)


def _shrinking() -> float:
    line = lines.asking_line()
    count = _state.asked.get(line, 0)
    _state.asked[line] = count + 1
    return max(_SHRINK ** (count + 1), 1e-30)
