"""Which copies of a model are written as it trains: an average is, a frozen reference is not.

PyTorch counts the writes to each tensor: a copy that is looked at in one step and again in the next tells by itself.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from vramfit.base import process
from vramfit.observe.ownership import storages

_SAMPLES = 8  # tensors of a copy that are looked at
_SELDOM = 4  # written in fewer than one of so many steps: copied over now and then, no average

States = tuple[tuple[int, int], ...]


@dataclass
class _Copy:
    tensors: list[Any]  # weak references to a few
    states: States
    writes: int = 0
    steps: int = 0


class _State:
    def __init__(self) -> None:
        self.copies: dict[int, _Copy] = {}


_state = process.own(_State)


def _sample(tensors: list[Any]) -> list[Any]:
    return tensors[:: max(1, len(tensors) // _SAMPLES)][:_SAMPLES]


def _states(tensors: list[Any]) -> States:
    return tuple(storages.state_of(tensor) for tensor in tensors)


def watch(key: int, tensors: list[Any]) -> None:
    """A copy, by the id of what holds it. One whose tensors were replaced since was written too."""
    chosen = _sample(tensors)
    known = _state.copies.get(key)
    if known is not None and _are(known, chosen):
        return
    writes = known.writes + 1 if known is not None else 0
    steps = known.steps + 1 if known is not None else 0
    _state.copies[key] = _Copy([weakref.ref(tensor) for tensor in chosen], _states(chosen), writes, steps)


def _are(copy: _Copy, tensors: list[Any]) -> bool:
    return len(copy.tensors) == len(tensors) and all(ref() is now for ref, now in zip(copy.tensors, tensors))


def step_ended() -> None:
    for copy in list(_state.copies.values()):
        tensors = [ref() for ref in copy.tensors]
        if any(tensor is None for tensor in tensors):
            continue  # replaced: the next walk sees by what
        states = _states(tensors)
        copy.steps += 1
        copy.writes += states != copy.states
        copy.states = states


def is_written(key: int) -> bool:
    copy = _state.copies.get(key)
    return copy is not None and copy.writes > 0 and copy.writes * _SELDOM >= copy.steps
