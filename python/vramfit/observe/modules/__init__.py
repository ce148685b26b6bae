"""What each module of the job's models does in one step, under VRAMFIT_MODULES=1 (`vramfit run --modules`).

Watches the first two training forwards of each model and the first two of each kind of
evaluation: the later one counts, for the first also tries algorithms. Writes notes (docs/notes.md lists them);
src/liveness makes the table and the network out of them. No tensor is kept: storages are known by weak references.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from vramfit.base import events, notes, process, recorder
from vramfit.base.around import around
from vramfit.contract import notes as said
from vramfit.observe import phases, scopes
from vramfit.observe.modules import listing, trace, work
from vramfit.observe.phases import position
from vramfit.private import torch as of_torch

_MEASURED_FORWARDS = 2
# Blocks that a script calls one by one are each a root. Beyond this it makes modules as it goes.
_MOST_ROOTS = 4096


class _State:
    KEEPS = ("installed", "compiles")

    def __init__(self) -> None:
        self.installed = False
        # torch.compile was called: operators are not seen, and a watched one would not be compiled.
        self.compiles = False
        self.active: trace.Trace | None = None
        self.forwards: dict[tuple[int, int], int] = {}  # by id of a root and phase
        self.steps: dict[int, int] = {}


_state = process.own(_State)


def is_wanted() -> bool:
    return os.environ.get("VRAMFIT_MODULES") == "1"


def _on_root_enter(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    root = scopes.root_of(module)
    if root is None or not root.parameters or _state.active is not None:
        return
    inner = scopes.unwrap(module)
    key = (id(inner), position.phase)
    if _state.forwards.get(key, 0) >= _MEASURED_FORWARDS or len(_state.forwards) > _MOST_ROOTS:
        return
    _state.forwards[key] = _state.forwards.get(key, 0) + 1
    number = listing.number_of(inner, root)
    watch = trace.Trace(number, listing.indices_of(inner), sees_operators=not _is_compiled(module))
    _state.active = watch
    phases.watchers.append(watch)
    watch.begin(module, args, kwargs)


def _is_compiled(module: Any) -> bool:
    if _state.compiles:
        return True
    return any(of_torch.compiled_call.of(part) is not None for part in module.modules())


def _on_root_exit(module: Any, result: Any) -> None:
    watch = _state.active
    if watch is None or not watch.is_of(module):
        return
    _state.active = None
    phases.watchers.remove(watch)
    watch.end(result)
    watch.write(recorder.PHASE_NAMES[position.phase])


def _before_step(optimizer: Any) -> None:
    # Several models may have had several backward passes: all of them end with a step.
    if _state.steps.get(id(optimizer), 0) < _MEASURED_FORWARDS:
        listing.note_gradients()


def _after_step(optimizer: Any) -> None:
    seen = _state.steps.get(id(optimizer), 0)
    _state.steps[id(optimizer)] = seen + 1
    if seen < _MEASURED_FORWARDS:
        listing.note_states(optimizer)


def _watch_compile(torch: Any) -> None:
    def compile_and_tell(*_: Any, **__: Any) -> Iterator[Any]:
        _state.compiles = True
        yield

    torch.compile = around("modules.compile", torch.compile, compile_and_tell)


def install(torch: Any) -> None:
    """Called once a process."""
    if not is_wanted() or _state.installed:
        return
    _state.installed = True
    work.prepare()
    _watch_compile(torch)
    events.root_enter.listen(_on_root_enter)
    events.root_exit.listen(_on_root_exit)
    events.step_begin.listen(_before_step)
    events.step_end.listen(_after_step)
    notes.note(said.ModulesWatched())
