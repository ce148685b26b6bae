"""What training still holds when an evaluation begins.

The moment is the start of the pass over the evaluation's loader, before any of its batches is on the card; for a loop
without a loader, the first forward pass after training, its inputs left out.
"""

from __future__ import annotations

import time
import weakref
from typing import Any, NamedTuple

from vramfit.base import events, notes, process, recorder
from vramfit.contract import notes as said
from vramfit.diagnose import groups, live_tensors
from vramfit.observe import loaders, owners, scopes, training_loaders
from vramfit.observe.phases import position

_MAX_INVENTORIES = 3
_MIN_BYTES = 1 << 16


class _Inventory(NamedTuple):
    at_ns: int
    allocated_bytes: int
    gradient_bytes: int
    tensors: list[said.TensorGroup]


class _State:
    def __init__(self) -> None:
        self.taken = 0
        self.pending: _Inventory | None = None
        self.due = False
        self.before_training: dict[int, weakref.ref[Any]] = {}  # tensors that are older than training: constants


_state = process.own(_State)


def _gradient_bytes() -> int:
    found = {}
    for _, module in scopes.live_roots():
        for parameter in module.parameters():
            if parameter.grad is not None and parameter.grad.is_cuda:
                found[owners.address_of(parameter.grad)] = parameter.grad.numel() * parameter.grad.element_size()
    return sum(found.values())


def _inventory(but: set[int]) -> _Inventory | None:
    if _state.taken >= _MAX_INVENTORIES:
        return None
    _state.taken += 1
    known = live_tensors.known_storages() | but
    left = []
    for tensor in live_tensors.without(live_tensors.find_all(), known):
        older = _state.before_training.get(id(tensor))
        if older is None or older() is not tensor:
            left.append(tensor)
    return _Inventory(
        at_ns=time.monotonic_ns(),
        allocated_bytes=recorder.allocated(),
        gradient_bytes=_gradient_bytes(),
        tensors=[entry for entry in groups.describe(left) if entry.bytes >= _MIN_BYTES],
    )


def _before_pass(this_pass: loaders.Pass) -> None:
    if position.trained and position.phase == recorder.TRAIN and not training_loaders.looks_like_one(this_pass):
        _state.pending = _inventory(set())


def _phase_begins(phase: int) -> None:
    if phase in (recorder.VALIDATE, recorder.TEST):
        _state.due = position.trained
    elif phase == recorder.TRAIN:
        _state.pending, _state.due = None, False


def _before_root(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if position.phase == recorder.TRAIN and not position.trained and not _state.before_training:
        inputs = {id(tensor) for _, tensor in owners.tensors_in(args, kwargs)}
        older = (tensor for tensor in live_tensors.find_all() if id(tensor) not in inputs)
        _state.before_training.update((id(tensor), weakref.ref(tensor)) for tensor in older)
    if not _state.due:
        return
    _state.due = False
    found = _state.pending
    if found is None:
        found = _inventory({owners.address_of(tensor) for _, tensor in owners.tensors_in(args, kwargs)})
    _state.pending = None
    if found is not None:
        notes.note(
            said.KeptFromTraining(
                phase=recorder.PHASE_NAMES[position.phase],
                at_ns=found.at_ns,
                allocated_bytes=found.allocated_bytes,
                gradient_bytes=found.gradient_bytes,
                tensors=found.tensors,
            )
        )


def install() -> None:
    loaders.before_pass.append(_before_pass)
    events.phase_begin.listen(_phase_begins)
    events.root_enter.listen(_before_root)
