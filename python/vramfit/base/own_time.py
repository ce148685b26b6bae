"""Seconds that a job had a processor for, or waited by its own doing: on a busy machine fewer than have passed.

    passed          |============================|
    waited in line      |-----|     |----|            runnable, and another process had the processor
    own                 22 - 9 = 13 of them           what an idle machine would have taken

How far a run comes is decided by these, so that what is said of it does not depend on who else is at work. The kernel
counts the waiting of each thread (/proc/PID/task/TID/schedstat); those of Python's main thread and of autograd are
taken, for of them one waits for the other. Where it counts nothing all of the time is one's own.
"""

from __future__ import annotations

import os
import time

from vramfit.base import process

_LEAST_SHARE = 0.25  # of the seconds that pass: an end is waited for on the busiest machine, too
_LOOK_AGAIN_SECONDS = 1.0  # for threads that have come
_AUTOGRAD = "pt_autograd"  # begins the names of its threads


class _State:
    def __init__(self) -> None:
        self.threads: list[str] = []
        self.looked = float("-inf")


_state = process.own(_State)


class Stopwatch:
    """Begins when it is made."""

    def __init__(self) -> None:
        self._begun, self._waited = time.monotonic(), _waited()

    def seconds(self) -> float:
        passed = time.monotonic() - self._begun
        return max(passed * _LEAST_SHARE, passed - max(0.0, _waited() - self._waited))


def _waited() -> float:
    """Seconds in line so far."""
    now = time.monotonic()
    if now - _state.looked > _LOOK_AGAIN_SECONDS:
        _state.threads, _state.looked = _threads(), now
    return sum(map(_waited_of, _state.threads))


def _threads() -> list[str]:
    try:
        others = [number for number in os.listdir("/proc/self/task") if _read(number, "comm").startswith(_AUTOGRAD)]
    except OSError:
        others = []
    return [str(os.getpid()), *others]


def _waited_of(thread: str) -> float:
    _, waited_ns, *_ = [*_read(thread, "schedstat").split(), "0", "0"]
    return int(waited_ns) / 1e9


def _read(thread: str, file: str) -> str:
    try:
        with open(f"/proc/self/task/{thread}/{file}", encoding="ascii", errors="replace") as opened:
            return opened.read()
    except OSError:
        return ""  # it has ended, or the kernel keeps none
