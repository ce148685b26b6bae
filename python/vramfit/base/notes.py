"""Notes: what the hooks know, one JSON object a line (docs/notes.md lists them, contract/notes.py makes them)."""

from __future__ import annotations

import functools
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeVar

from vramfit.base import process, recorder
from vramfit.contract import notes as said
from vramfit.contract.fields import plain
from vramfit.private.names import Gone, find_gone, find_moved

Function = TypeVar("Function", bound=Callable[..., Any])


class _State:
    KEEPS = ("gone",)

    def __init__(self) -> None:
        self.gone: list[said.NameGone] = []  # told after what process this is
        self.process_said = False
        self.cuts: set[str] = set()  # kinds of what was left out
        self.failed: set[str] = set()  # hooks


_state = process.own(_State)


def note(what: said.Note) -> None:
    """Writes one note; the first of a process is preceded by what process this is."""
    process_begins()
    if isinstance(what, said.Cut):
        _state.cuts.add(what.what)
    _write(what)


def _write(what: said.Note) -> None:
    recorder.note(json.dumps(what, default=plain))


def was_cut() -> bool:
    """Whether any round of a loop of this process's was left out, so far."""
    return bool(_state.cuts - {"uploads"})


def process_begins() -> None:
    """Says once what process this is, and so that the hooks are in it."""
    if _state.process_said:
        return
    _state.process_said = True
    _write(_process())
    if not recorder.finds_lines():
        _write(said.LinesUnknown(python=sys.version.split()[0]))
    for gone in _state.gone:
        _write(gone)


def _process() -> said.Process:
    torch = sys.modules.get("torch")
    version = getattr(torch, "version", None)
    return said.Process(
        torch=str(getattr(torch, "__version__", "")),
        cuda=str(getattr(version, "cuda", None) or ""),
        python=sys.version.split()[0],
        rank=number("RANK", 0),
        world_size=number("WORLD_SIZE", 1),
        local_rank=number("LOCAL_RANK", -1),
        role=_role(),
    )


def _role() -> said.ProcessRole:
    """`child` for a process that multiprocessing started."""
    module = sys.modules.get("multiprocessing.process")
    parent = getattr(module, "parent_process", None)
    return "child" if parent is not None and parent() is not None else "main"


def number(variable: str, default: int) -> int:
    try:
        return int(os.environ.get(variable, default))
    except ValueError:
        return default


def hook_failed(where: str, error: BaseException) -> None:
    """A hook that fails is said once and never breaks the job."""
    if where in _state.failed:
        return
    _state.failed.add(where)
    last = traceback.extract_tb(error.__traceback__)[-1:] if error.__traceback__ else []
    place = f"{os.path.basename(last[0].filename)}:{last[0].lineno}" if last else ""
    note(said.HookFailed(where=where, type=type(error).__name__, message=str(error), at=place))


def look_for_names(names: ModuleType, finished: str = "") -> None:
    """Tells in each process which names of a file of vramfit.private are gone, once its library is imported."""
    _tell_each(find_gone(names, finished))


def look_for_modules(names: ModuleType, package: ModuleType) -> None:
    """Tells which names of a file of vramfit.private have lost their module, once that package of its library is
    imported."""
    _tell_each(find_moved(names, package))


def layout_unknown(what: str, lost: str) -> None:
    """Tells that objects of this interpreter are laid out in an unknown way: no release of Python promises to lay them
    out as the last one did."""
    _tell_gone(said.NameGone(library="Python", version=sys.version.split()[0], name=what, lost=lost))


def _tell_each(found: Iterator[Gone]) -> None:
    for each in found:
        _tell_gone(said.NameGone(library=each.library, version=each.version, name=each.name, lost=each.lost))


def _tell_gone(gone: said.NameGone) -> None:
    if any(vars(gone) == vars(known) for known in _state.gone):
        return
    _state.gone.append(gone)
    if _state.process_said:
        _write(gone)


def guarded(where: str) -> Callable[[Function], Function]:
    """Decorates a hook: an exception in it becomes a note."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                hook_failed(where, error)
                return None

        return call  # type: ignore[return-value]

    return decorate
