"""What each module of the job's models does in one step, under VRAMFIT_MODULES=1 (`vramfit run --modules`).

Watches the first two training forwards of each model and the first two of each kind of
evaluation: the later one counts, for the first also tries algorithms. Writes notes (docs/notes.md lists them);
src/liveness makes the table and the network out of them. No tensor is kept: storages are known by weak references.
"""

from __future__ import annotations

import functools
import os
from typing import Any

from vramfit.base import events, notes, recorder
from vramfit.contract import notes as said
from vramfit.observe import phases, scopes
from vramfit.observe.modules import listing, trace, work
from vramfit.observe.phases import position

_MEASURED_FORWARDS = 2
_MOST_ROOTS = 16

_installed = [False]
_compiles: list[bool] = []  # torch.compile was called: operators are not seen, and a watched one would not be compiled
_active: list[trace.Trace] = []  # at most one
_forwards: dict[tuple[int, int], int] = {}  # by id of a root and phase
_steps: dict[int, int] = {}


def restart() -> None:
    """In a forked child: nothing is being watched there."""
    for known in (_active, _forwards, _steps):
        known.clear()
    listing.restart()


def is_wanted() -> bool:
    return os.environ.get("VRAMFIT_MODULES") == "1"


def _on_root_enter(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    root = scopes.root_of(module)
    if root is None or not root.parameters or _active:
        return
    inner = scopes.unwrap(module)
    key = (id(inner), position.phase)
    if _forwards.get(key, 0) >= _MEASURED_FORWARDS or len(_forwards) > _MOST_ROOTS:
        return
    _forwards[key] = _forwards.get(key, 0) + 1
    number = listing.number_of(inner, root)
    watch = trace.Trace(number, listing.indices_of(inner), sees_operators=not _is_compiled(module))
    _active.append(watch)
    phases.watchers.append(watch)
    watch.begin(module, args, kwargs)


def _is_compiled(module: Any) -> bool:
    if _compiles:
        return True
    return any(getattr(part, "_compiled_call_impl", None) is not None for part in module.modules())


def _on_root_exit(module: Any, result: Any) -> None:
    if not _active or not _active[-1].is_of(module):
        return
    watch = _active.pop()
    phases.watchers.remove(watch)
    watch.end(result)
    watch.write(recorder.PHASE_NAMES[position.phase])


def _before_step(optimizer: Any) -> None:
    # Several models may have had several backward passes: all of them end with a step.
    if _steps.get(id(optimizer), 0) < _MEASURED_FORWARDS:
        listing.note_gradients()


def _after_step(optimizer: Any) -> None:
    seen = _steps.get(id(optimizer), 0)
    _steps[id(optimizer)] = seen + 1
    if seen < _MEASURED_FORWARDS:
        listing.note_states(optimizer)


def _watch_compile(torch: Any) -> None:
    original = torch.compile

    @functools.wraps(original)
    def compile_and_tell(*args: Any, **kwargs: Any) -> Any:
        _compiles.append(True)
        return original(*args, **kwargs)

    torch.compile = compile_and_tell


def install(torch: Any) -> None:
    """Once a process."""
    if not is_wanted() or _installed[0]:
        return
    _installed[0] = True
    work.prepare()
    _watch_compile(torch)
    events.root_enter.listen(_on_root_enter)
    events.root_exit.listen(_on_root_exit)
    events.step_begin.listen(_before_step)
    events.step_end.listen(_after_step)
    os.register_at_fork(after_in_child=restart)
    notes.note(said.ModulesWatched())
