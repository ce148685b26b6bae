"""Stacks of allocations, kept by PyTorch's own memory history, within a budget.

PyTorch takes some 2 us for each stack (torch.cuda.memory, "Latency impact"), so a step of thousands of small
operations could feel it. Twice a second the number of allocations is read; where their stacks would cost more than
1 % of the time, they are taken for a part of the time only. Live blocks made in the other part have no stack. The
ring holds a fixed number of entries.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from vramfit.private import torch as of_torch

ENTRIES = 10_000
STACK_SECONDS = 3e-6  # of one allocation: PyTorch says 2 us, deep stacks take more
MOST_SHARE = 0.01
PERIOD_SECONDS = 0.5
_FIRST_SECONDS = 3.0  # weights, the first steps and the optimizer's state: always taken


def share_of_time(allocations: int, seconds: float) -> float:
    """The part of the time during which stacks may be taken, for so many allocations in so many seconds."""
    cost = allocations * STACK_SECONDS
    return 1.0 if cost <= MOST_SHARE * seconds else MOST_SHARE * seconds / cost


class History:
    """Switches PyTorch's history on and off. One a process."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._on: bool | None = None
        self._count = 0
        self._credit = 0.0

    def begin(self) -> None:
        self._switch(True)
        threading.Thread(target=self._watch, name="vramfit-on-oom", daemon=True).start()

    def _switch(self, on: bool) -> None:
        if on == self._on:
            return
        # Off is a history without stacks: to end it would make PyTorch warn, and lose what it has.
        record = of_torch.record_memory_history
        record("all", context="alloc" if on else None, stacks="python", max_entries=ENTRIES)
        self._on = on

    def _watch(self) -> None:
        time.sleep(_FIRST_SECONDS)
        self._count = self._allocations()
        while True:
            time.sleep(PERIOD_SECONDS)
            try:
                self._adjust()
            except Exception:  # the interpreter is ending, or this build has no history
                return

    def _adjust(self) -> None:
        now = self._allocations()
        made, self._count = now - self._count, now
        # The history is on for as many of ten periods as the share allows.
        self._credit += share_of_time(made, PERIOD_SECONDS)
        if self._credit >= 1.0:
            self._credit -= 1.0
            self._switch(True)
        else:
            self._switch(False)

    def _allocations(self) -> int:
        cuda = self._torch.cuda
        return sum(
            int(cuda.memory_stats(device).get("allocation.all.allocated", 0)) for device in range(cuda.device_count())
        )
