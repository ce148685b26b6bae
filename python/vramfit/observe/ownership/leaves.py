"""Weights that no module has: leaves of the graph that the script itself keeps from one backward pass to the next.

An input whose gradient is asked for is such a leaf too, once: the next backward pass has another one.
"""

from __future__ import annotations

import weakref
from typing import Any

from vramfit.base import process
from vramfit.observe.ownership import storages


class _State:
    def __init__(self) -> None:
        self.seen: dict[int, weakref.ref[Any]] = {}
        self.kept: list[weakref.ref[Any]] = []


_state = process.own(_State)


def look(tensors: list[Any], claimed: set[int]) -> list[Any]:
    """Leaves with gradients among all living tensors. Those that had one at the last look too are kept()."""
    before = dict(_state.seen)
    _state.seen.clear()
    known = {id(tensor) for tensor in kept()}
    for tensor in tensors:
        if not (tensor.is_leaf and tensor.requires_grad) or tensor.grad is None or id(tensor) in known:
            continue
        if storages.address_of(tensor) in claimed:
            continue
        _state.seen[id(tensor)] = weakref.ref(tensor)
        if id(tensor) in before and before[id(tensor)]() is tensor:
            _state.kept.append(weakref.ref(tensor))
    return [tensor for reference in _state.seen.values() if (tensor := reference()) is not None]


def kept() -> list[Any]:
    return [tensor for reference in _state.kept if (tensor := reference()) is not None]
