"""Which lines of the user's own files were executed, for next to nothing.

From Python 3.12 on `sys.monitoring` reports a line once and is then switched off for it. Before, the recorder does so
with a trace function in C: one in Python would keep tensors alive (recorder/line_watch.h).
"""

from __future__ import annotations

import contextlib
import dis
import json
import os
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any

from vramfit.base import frames, process, recorder
from vramfit.steer.coverage.within_lines import Masks

_TOOL = 4  # of sys.monitoring's six; 0 to 2 and 5 are meant for debuggers, coverage, profilers and optimizers


class Seen:
    KEEPS = process.ALL  # a forked child runs the same script

    def __init__(self) -> None:
        self.executed: dict[str, set[int]] = {}  # by file, as its code names it
        self.raised: set[tuple[str, int]] = set()  # files and lines where exceptions came up or were handled
        self.entered: set[tuple[str, str, int]] = set()  # code that was begun: file, name, first line
        self.masks = Masks()  # calls that were made in branches within a line
        self.foreign: set[str] = set()  # files that are not the user's
        self.installed = False


seen = process.own(Seen)


def is_known() -> bool:
    """False where nothing was watched, or somebody else (a debugger, another coverage) took the place."""
    if not seen.installed:
        return False
    return _has_monitoring() or sys.gettrace() is _watch


def _has_monitoring() -> bool:
    return sys.version_info >= (3, 12)


def _is_foreign(code: CodeType) -> bool:
    file = code.co_filename
    if file in seen.executed:
        return False
    if file in seen.foreign:
        return True
    if not frames.is_script(code) or not os.path.exists(file):
        seen.foreign.add(file)
        return True
    seen.executed[file] = set()
    return False


def _execute(file: str, line: int) -> None:
    seen.executed[file].add(line)
    _children.write("line", file, line)


def _enter(code: CodeType) -> None:
    seen.entered.add((code.co_filename, code.co_name, code.co_firstlineno))
    _children.write("code", code.co_filename, code.co_name, code.co_firstlineno)


def _raise(file: str, line: int) -> None:
    seen.raised.add((file, line))
    _children.write("raised", file, line)


class _Children:
    """What child processes execute (the workers of a data loader), for the process that tells. A child may be ended at
    any time, so each line is written down as it comes."""

    KEEPS = process.ALL

    def __init__(self) -> None:
        self._own, self._parents, self._file, self._is_fork = "", "", -1, False

    def begin(self) -> None:
        self.__init__()  # type: ignore[misc]
        self._own = _file_of(os.getpid())
        self.run_for_parent()

    def be_fork(self) -> None:
        self._parents, self._is_fork = self._own, True

    def run_for_parent(self) -> None:
        """Reports to the parent where `multiprocessing` started this process, in whatever way: its parent may be no
        parent to the system (a fork server's child), or share no memory with it."""
        module = sys.modules.get("multiprocessing.process")
        parent = module.parent_process() if module is not None else None
        if parent is not None and parent.pid:
            path = _file_of(parent.pid)
            if path != self._parents and self._file >= 0:
                os.close(self._file)
                self._file = -1
            self._parents = path

    def write(self, *what: str | int) -> None:
        if not self._parents:
            return
        try:
            if self._file < 0:
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
                self._file = os.open(self._parents, flags, 0o600)
            os.write(self._file, json.dumps(what).encode() + b"\n")
        except OSError:
            self._parents = ""

    def read(self) -> None:
        """Adds it to what this process executed."""
        if self._is_fork or not os.path.exists(self._own):
            return
        with open(self._own, "rb") as text:
            for line in text:
                kind, *what = json.loads(line) if line.endswith(b"\n") else [""]  # type: str, Any
                if kind == "line":
                    seen.executed.setdefault(what[0], set()).add(what[1])
                elif kind:
                    (seen.entered if kind == "code" else seen.raised).add(tuple(what))


def _file_of(pid: int) -> str:
    folder = os.environ.get("VRAMFIT_RUN_DIR")
    return os.path.join(folder, f"executed.{pid}.jsonl") if folder else ""


_children = process.own(_Children)


# -- before Python 3.12


def _watch(code: CodeType, line: int) -> bool | bytearray:
    """Called by the recorder: with line 0 once for a code object, then once for each line of those that are wanted."""
    if line == 0:
        is_wanted = code.co_filename not in seen.foreign and not _is_foreign(code)
        if is_wanted:
            _enter(code)
        return (seen.masks.mask_of(code, lines_of(code)) or True) if is_wanted else False
    if line < 0:
        _raise(code.co_filename, -line)
    else:
        _execute(code.co_filename, line)
    return True


# -- sys.monitoring


def _on_start(code: CodeType, offset: int) -> Any:
    monitoring = sys.monitoring  # type: ignore[attr-defined]
    if code.co_filename not in seen.foreign and not _is_foreign(code):
        _execute(code.co_filename, code.co_firstlineno)
        _enter(code)
        wanted = monitoring.events.LINE
        if seen.masks.mask_of(code, lines_of(code)) is not None:
            wanted |= monitoring.events.CALL
        monitoring.set_local_events(_TOOL, code, wanted)
    return monitoring.DISABLE


def _on_call(code: CodeType, offset: int, called: object, first: object) -> Any:
    seen.masks.reach(code, offset)
    return sys.monitoring.DISABLE  # type: ignore[attr-defined]


def _on_line(code: CodeType, line: int) -> Any:
    if code.co_filename in seen.executed:
        _execute(code.co_filename, line)
    return sys.monitoring.DISABLE  # type: ignore[attr-defined]


def _on_handled(code: CodeType, offset: int, error: BaseException) -> None:
    if code.co_filename in seen.executed and not isinstance(error, StopIteration):
        # A handler begins with instructions of no line: that of `except ...` comes after them.
        place = next((line for _, end, line in code.co_lines() if offset < end and line), None)
        if place is not None:
            _raise(code.co_filename, place)


def _monitor() -> bool:
    monitoring = sys.monitoring  # type: ignore[attr-defined]
    if monitoring.get_tool(_TOOL) is not None:
        return False
    monitoring.use_tool_id(_TOOL, "vramfit")
    events = monitoring.events
    monitoring.register_callback(_TOOL, events.PY_START, _on_start)
    monitoring.register_callback(_TOOL, events.LINE, _on_line)
    monitoring.register_callback(_TOOL, events.CALL, _on_call)
    monitoring.register_callback(_TOOL, events.EXCEPTION_HANDLED, _on_handled)
    monitoring.set_events(_TOOL, events.PY_START | events.EXCEPTION_HANDLED)
    return True


def lines_of(code: CodeType) -> set[int]:
    """The lines where it has instructions."""
    return {line for _, line in dis.findlinestarts(code) if line}


def begin() -> None:
    """Watches from here on, in this thread. What running functions have behind them counts as executed: nobody
    watched."""
    for known in (seen.executed, seen.raised, seen.entered, seen.masks):
        known.clear()  # type: ignore[attr-defined]
    _children.begin()
    if _has_monitoring():
        seen.installed = seen.installed or _monitor()
    elif sys.gettrace() is None:
        seen.installed = recorder.watch_lines(_watch)
    frame = sys._getframe(1) if seen.installed else None
    while frame is not None:
        code = frame.f_code
        if code.co_filename not in seen.foreign and not _is_foreign(code):
            seen.executed[code.co_filename] |= {line for line in lines_of(code) if line <= frame.f_lineno}
            if _has_monitoring():
                _on_start(code, 0)
            seen.masks.reach_before(code, frame.f_lasti)
        frame = frame.f_back


@contextlib.contextmanager
def looking_away() -> Iterator[None]:
    """While a large library is imported: nothing in it is the user's, and a trace function makes it slow."""
    if not seen.installed or _has_monitoring() or sys.gettrace() is not _watch:
        yield
        return
    recorder.watch_lines(None)
    try:
        yield
    finally:
        recorder.watch_lines(_watch)


def go_on_in_child() -> None:
    """Called in a forked child, whose lines are its parent's script's too."""
    _children.be_fork()


def run_for_parent() -> None:
    """Called in a process that `multiprocessing` started, before it runs what it was started for."""
    if seen.installed:
        _children.run_for_parent()


def add_children() -> None:
    """What child processes executed was executed."""
    _children.read()


def end() -> None:
    """Nothing is watched any more: in a forked child that does not run the script, and at a process' end."""
    if seen.installed and not _has_monitoring() and sys.gettrace() is _watch:
        recorder.watch_lines(None)
    if seen.installed and _has_monitoring():
        sys.monitoring.set_events(_TOOL, 0)  # type: ignore[attr-defined]
    seen.installed = False
