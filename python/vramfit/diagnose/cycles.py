"""Whether what has no name to hold it is a cycle of objects that only waits for Python's collector.

    step       1    2    3   ...   8      9   ...   13
    cycles     1    2    3         8 -> 0    1         5 -> 0      the collector is asked at looks further and further
                                                                   apart: what it frees nobody held

The collector comes when many objects have been made, not when a card fills, so a job whose steps leave cycles behind
looks like one that leaks for a hundred steps. It is asked only where a script has left it on, and where the card has
room for what would have come otherwise: a job that cycles drive out of memory is to run out here as well.
"""

from __future__ import annotations

import gc
import sys
import time

from vramfit.base import notes, recorder
from vramfit.contract import notes as said

_MOST_USED = 2  # one part in so many of the smallest card


def are_possible(tensors: list[said.TensorGroup]) -> bool:
    """Whether some tensors of a note have no named holder. The latest one may be a variable still."""
    return any(not group.holder.name or group.holder.kind == "object" for group in tensors)


def collect() -> None:
    """Asks the collector, and says what came of it."""
    is_on = gc.isenabled() and gc.get_threshold()[0] != 0
    if is_on and not _has_room():
        return
    before, begun = recorder.allocated(), time.monotonic_ns()
    if is_on:
        gc.collect()
    freed = max(0, before - recorder.allocated())
    notes.note(said.Collected(is_on=is_on, begun_ns=begun, ended_ns=time.monotonic_ns(), freed_bytes=freed))


def _has_room() -> bool:
    cuda = sys.modules["torch"].cuda
    cards = [cuda.get_device_properties(index).total_memory for index in range(cuda.device_count())]
    return bool(cards) and recorder.allocated() * _MOST_USED < min(cards)
