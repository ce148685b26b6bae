"""A job that reads a value which steers it, and was not computed, is run again from its start with tracked values.

Nothing is followed in the first run, so that a program that reads nothing pays nothing. VRAMFIT_RESTART=1 allows it:
the job then leaves a file in its run folder and ends here (src/job/another_try.h). What it had printed by then is
counted, and not shown again by the run that repeats it (VRAMFIT_PRINTED).
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from typing import Any

from vramfit.base import process
from vramfit.contract import asked, told
from vramfit.contract.fields import plain, read


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.counted: dict[str, _Counted] = {}  # stdout and stderr


_state = process.own(_State)


class _Counted(io.FileIO):
    """A file descriptor that counts what is written, and leaves out the first `skip` bytes."""

    def __init__(self, number: int, name: str, skip: int) -> None:
        super().__init__(number, "wb", closefd=False)
        self.name = name
        self.passed = 0
        self.__skip = skip

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        left_out = min(self.__skip, len(view))
        self.__skip -= left_out
        written = left_out
        if left_out < len(view):
            written += super().write(view[left_out:]) or 0
        self.passed += written
        return written


def is_allowed() -> bool:
    return os.environ.get("VRAMFIT_RESTART") == "1"


def follow_output() -> None:
    """Counts what this process prints, where it may be run again or is the second run."""
    printed = os.environ.get("VRAMFIT_PRINTED")
    if not (is_allowed() or printed) or _has_siblings():
        return
    before = read(asked.AlreadyPrinted, json.loads(printed)) if printed else None
    skips = (before.stdout_bytes, before.stderr_bytes) if before else (0, 0)
    for name, number, skip in zip(("stdout", "stderr"), (1, 2), skips):
        stream = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper) or _number_of(stream) != number or not _is_jobs_own(number):
            continue
        stream.flush()
        raw = _state.counted[name] = _Counted(number, f"<{name}>", skip)
        text = io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding=stream.encoding,
            errors=stream.errors,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)


def _number_of(stream: Any) -> int:
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return -1


def _is_jobs_own(number: int) -> bool:
    """Whether it goes where the job's first process prints: a program that another one reads through a pipe prints
    nothing of the job's, and must not lose a byte of it."""
    status = os.fstat(number)
    identity = f"{status.st_dev}:{status.st_ino}"
    return os.environ.setdefault(f"VRAMFIT_OUTPUT_{number}", identity) == identity


def _has_siblings() -> bool:
    """One of several ranks, or a worker: their output can't be told apart."""
    module = sys.modules.get("multiprocessing.process")
    parent = getattr(module, "parent_process", None)
    return "RANK" in os.environ or (parent is not None and parent() is not None)


def with_values() -> None:
    """Ends the job, all processes of it, and has it run again. Does not return where that is allowed."""
    folder = os.environ.get("VRAMFIT_RUN_DIR")
    if not is_allowed() or not folder:
        return
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    printed = [_state.counted[name].passed if name in _state.counted else 0 for name in ("stdout", "stderr")]
    seen = told.OutputSeen(stdout_bytes=printed[0], stderr_bytes=printed[1])
    with open(os.path.join(folder, told.VALUES_WANTED_FILE), "w") as file:
        json.dump(seen, file, default=plain)
    _end_launcher()
    os._exit(0)


def _end_launcher() -> None:
    """Who started this rank would report its death. A job's first process leads a group of its own."""
    own = os.getpgrp()
    if own != os.getpid():
        os.killpg(own, signal.SIGKILL)
    elif "TORCHELASTIC_RUN_ID" in os.environ:
        os.killpg(os.getpgid(os.getppid()), signal.SIGKILL)
