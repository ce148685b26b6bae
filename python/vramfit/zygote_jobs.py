"""The jobs of a warm process as it sees them: where a request came from, and a fork that runs."""

from __future__ import annotations

import json
import os
import signal
import socket
from dataclasses import dataclass, field
from typing import Any

_LOOK_SECONDS = 0.25  # between two looks at how long a job has waited for a processor
_MOST_WAITED = 0.8  # of the wall's seconds: a job whose threads all wait is not patient for ever


@dataclass(eq=False)
class Connection:
    """The place that requests come from."""

    socket: socket.socket
    received: bytes = b""
    files: list[int] = field(default_factory=list)  # that came with the request which is being received


@dataclass
class Job:
    """One running fork."""

    connection: Connection
    id: int
    pid: int
    started: float
    timeout: float | None
    grace: float  # seconds from a polite signal at the time limit to the end; 0: it is ended at once
    modules: int  # a memory file in which it leaves the names of the modules it imported, or why it did not run
    patience: float | None = None
    waited: float = 0.0  # for a processor
    looked: float = 0.0
    timed_out: bool = False
    ended_at: float = 0.0  # when it was told to end

    def is_over(self, seconds: float) -> bool:
        """Its time is up."""
        if self.timeout is not None and seconds > self.timeout:
            return True
        return self.patience is not None and seconds - self.waited > self.patience

    def look(self, seconds: float) -> None:
        """How long it has waited, from time to time."""
        if seconds - self.looked >= _LOOK_SECONDS:
            self.looked = seconds
            self.waited = max(self.waited, min(_waited_by(self.pid), _MOST_WAITED * seconds))


def read_left(memory_file: int) -> dict[str, Any]:
    """What a job left when it ended; nothing of one that was killed."""
    with os.fdopen(memory_file, "rb") as file:
        file.seek(0)
        try:
            left = json.loads(file.read() or b"{}")
        except ValueError:
            return {}
    return left if isinstance(left, dict) else {}


def _waited_by(pid: int) -> float:
    """Seconds for which the threads of a process were ready to run, and others had the processors."""
    nanoseconds = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                nanoseconds += int(file.read().split()[1])
    except (OSError, IndexError, ValueError):  # it has ended, or the kernel does not count that
        pass
    return nanoseconds / 1e9


def signal_group(group: int, what: int) -> None:
    try:
        os.killpg(group, what)
    except OSError:  # it is gone
        pass


def kill_group(group: int, how: int = signal.SIGKILL) -> None:
    for kill, target in ((os.killpg, group), (os.kill, group)):
        try:
            kill(target, how)
        except OSError:
            pass
