"""Whole copies of a model's weights besides itself: an averaged model, a best state that is kept, a deepcopy."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from vramfit.base import events, notes, recorder
from vramfit.contract import notes as said
from vramfit.diagnose import live_tensors
from vramfit.observe import holders, owners, scopes
from vramfit.observe.phases import position

_STEPS = (2, 4)  # at whose end the live tensors are compared with the weights
_SHARE = 0.9  # of the weights' bytes that must be found again
_MIN_BYTES = 1 << 20


def _step_counted(number: int) -> None:
    if position.phase != recorder.TRAIN or number not in _STEPS:
        return
    root = next((module for root, module in scopes.live_roots() if root.parameters), None)
    if root is None:
        return
    known = live_tensors.known_storages()
    wanted = Counter(tuple(parameter.shape) for parameter in root.parameters())
    total = sum(parameter.numel() for parameter in root.parameters())
    found: list[Any] = []
    left = wanted.copy()
    for tensor in live_tensors.without(live_tensors.find_all(), known):
        shape = tuple(tensor.shape)
        if left.get(shape, 0) > 0 and tensor.grad_fn is None:
            left[shape] -= 1
            found.append(tensor)
    size = sum({owners.address_of(t): t.numel() * t.element_size() for t in found}.values())
    if size < _MIN_BYTES or sum(tensor.numel() for tensor in found) < _SHARE * total:
        return
    # The collector's order is by chance; a script's loop over the copy often ends at its last tensor, under a name.
    first = next(tensor for shape in wanted for tensor in found if tuple(tensor.shape) == shape)
    holder = holders.find([first], [found])[0]
    notes.note(
        said.WeightCopy(
            at_ns=time.monotonic_ns(),
            address=owners.address_of(first),
            holder=holder.for_note(),
            tensors=len(found),
            bytes=size,
        )
    )


def install() -> None:
    events.step_counted.listen(_step_counted)
