"""Weights that no module has: leaves of the graph that the script itself keeps from one backward pass to the next.

Data whose gradient is asked for are such leaves too (images of a gradient penalty, of an attack). They are not moved:
what is a weight beside a model is written to between two looks. Where no model was called there is nothing else that
learns, and a script may write to it in ways that PyTorch does not count (`.data`).
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from vramfit.base import process
from vramfit.observe.ownership import storages
from vramfit.observe.phases import position
from vramfit.private import torch as of_torch


class _Seen(NamedTuple):
    tensor: weakref.ref[Any]
    writes: int


class _State:
    def __init__(self) -> None:
        self.seen: dict[int, _Seen] = {}
        self.kept: list[weakref.ref[Any]] = []


_state = process.own(_State)


def look(tensors: list[Any], claimed: set[int]) -> list[Any]:
    """Leaves with gradients among all living tensors that are not kept(): whose they are is not known yet. Those that
    had a gradient at the last look too, and were moved, are kept from now on."""
    before = dict(_state.seen)
    _state.seen.clear()
    known = {id(tensor) for tensor in kept()}
    for tensor in tensors:
        if not (tensor.is_leaf and tensor.requires_grad) or tensor.grad is None or id(tensor) in known:
            continue
        if storages.address_of(tensor) in claimed:
            continue
        last, writes = before.get(id(tensor)), of_torch.writes.of(tensor, 0)
        if last is not None and last.tensor() is tensor and (position.root is None or writes != last.writes):
            _state.kept.append(weakref.ref(tensor))
        else:
            _state.seen[id(tensor)] = _Seen(weakref.ref(tensor), writes)
    return [tensor for seen in _state.seen.values() if (tensor := seen.tensor()) is not None]


def kept() -> list[Any]:
    return [tensor for reference in _state.kept if (tensor := reference()) is not None]
