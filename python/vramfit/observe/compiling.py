"""Whether a job that trains compiles, and the share of what it would save for backward that torch.compile may save.

The share decides what of the forward is worked out again in backward (plan/techniques/memory_budget,
apply/memory_budget.py). Where compiling is switched off, as it is while values are computed, nothing is told.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import Any

from vramfit.base import events, notes, process
from vramfit.base.around import around
from vramfit.contract import notes as said
from vramfit.private import torch as of_torch


class _State:
    KEEPS = ("compiles",)

    def __init__(self) -> None:
        self.compiles = False  # torch.compile was called
        self.is_told = False


_state = process.own(_State)


def is_used() -> bool:
    return _state.compiles


def budget() -> float | None:
    """None: this release of PyTorch has no such setting."""
    importlib.import_module(of_torch.COMPILER_SETTINGS)
    found: float | None = of_torch.memory_budget.get()
    return found


def set_budget(share: float) -> None:
    of_torch.memory_budget.replace(share)


def _compile(*_: Any, **__: Any) -> Iterator[Any]:
    _state.compiles = True
    yield


@notes.guarded("compiling")
def _at_step(_optimizer: Any) -> None:
    if _state.is_told or not _state.compiles:
        return
    _state.is_told = True
    if os.environ.get("TORCHDYNAMO_DISABLE") != "1":
        notes.note(said.Compiled(memory_budget=budget()))


def install(torch: Any) -> None:
    torch.compile = around("compiling", torch.compile, _compile)
    events.step_begin.listen(_at_step)
