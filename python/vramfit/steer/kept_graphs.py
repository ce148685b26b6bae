"""Graphs of past training steps that the script keeps, with what they saved: `losses.append(loss)`, `total += loss`.

Looked for where memory rose from each of some steps to the next. A graph that a backward pass has let go of holds
nothing, so that a list of such losses is no fault: what a graph's nodes still have saved is asked of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from vramfit.base import events, graphs, notes, process, recorder
from vramfit.contract import notes as said
from vramfit.observe.phases import position
from vramfit.private import torch as of_torch
from vramfit.steer import gathering

_RISES = 3  # in a row
_LEAST_RISE = 1 << 20
_MOST_LOOKS = 4
_MOST_NODES = 5_000


class _State:
    def __init__(self) -> None:
        self.levels: list[int] = []
        self.looks = 0


_state = process.own(_State)


@notes.guarded("kept_graphs")
def _at_step(_optimizer: Any) -> None:
    if _state.looks >= _MOST_LOOKS or position.recomputes:
        return
    _state.levels = [*_state.levels[-_RISES:], recorder.allocated()]
    rises = [after - before for before, after in zip(_state.levels, _state.levels[1:])]
    if len(rises) < _RISES or min(rises) < _LEAST_RISE:
        return
    _state.looks += 1
    found = gathering.find(sys._getframe(1), _RISES)
    if found is None or not found.keeps_graphs or _saved_bytes(found.values) < min(rises):
        return
    _state.looks = _MOST_LOOKS
    notes.note(said.GraphsKept(variable=found.name, line=found.line, bytes_per_step=min(rises)))


def _saved_bytes(values: list[Any]) -> int:
    """What the nodes behind some tensors have saved on the card."""
    storages: dict[int, int] = {}
    for node in graphs.nodes_behind((value.grad_fn for value in values), _MOST_NODES):
        storages.update((tensor.data_ptr(), tensor.nbytes) for tensor in _saved_by(node))
    return sum(storages.values())


def _saved_by(node: Any) -> Iterator[Any]:
    for name in dir(node):
        if not name.startswith(of_torch.SAVED):
            continue
        try:
            saved = getattr(node, name)
        except RuntimeError:  # a backward pass has let go of it
            return
        is_parameter = getattr(saved, "requires_grad", False) and saved.grad_fn is None
        if getattr(saved, "is_cuda", False) is True and not is_parameter:
            yield saved


def install() -> None:
    if not os.environ.get("VRAMFIT_PLAN"):  # plans have saved tensors in other places
        events.step_end.listen(_at_step)
