"""Ends a run that would go on for too long by itself, with a summary that names what was still running.

Whoever waits for a run ends it without a word after a time of theirs, and what it had found by then is lost. A run that
is told this time beforehand (--stop-after) interrupts pytest, which then names the line it waited in and writes its
report, kills what else it started, and fails.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

GRACE = 15.0  # seconds for pytest to write what it found


class Deadline:
    def __init__(self) -> None:
        self.is_over = False
        self.minutes = 0.0
        self._is_done = threading.Event()

    def start(self, minutes: float) -> None:
        self.minutes = minutes
        threading.Thread(target=self._watch, daemon=True).start()

    def end(self) -> None:
        """Called when all sections have ended: nothing is killed any more."""
        self._is_done.set()

    def _watch(self) -> None:
        if self._is_done.wait(60 * self.minutes):
            return
        self.is_over = True
        running = list_descendants(os.getpid())
        print(f"== {self.minutes:g} minutes are up, and all that runs is ended:", flush=True)
        for process in running:
            print(f"   {process}: {describe(process)}", flush=True)
        for process in running:
            if " -m pytest " in describe(process):
                end(process, signal.SIGINT)
        self._is_done.wait(GRACE)
        while not self._is_done.wait(1):  # a section may go on to its next program
            for process in list_descendants(os.getpid()):
                end(process, signal.SIGKILL)


def end(process: int, how: signal.Signals) -> None:
    try:
        os.kill(process, how)
    except ProcessLookupError:
        pass


def list_descendants(of: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            after_name = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        children.setdefault(int(after_name[1]), []).append(int(folder.name))
    found, new = [], [of]
    while new:
        new = [child for parent in new for child in children.get(parent, [])]
        found += new
    return found


def describe(process: int) -> str:
    """Its age and its command, on one line."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        age = time.time() - Path(f"/proc/{process}").stat().st_mtime
    except OSError:
        return "it has ended"
    return f"{age:.0f} s: {' '.join(words.split())[:300]}"


DEADLINE = Deadline()
