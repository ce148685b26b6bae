"""Loaders whose batches are all of one shape: while a run coasts, most of their passes need no reading of data.

What a job holds depends on the shapes of what it reads, not on the values. Every fourth pass reads all the same, since
a script may change its data from some epoch on; a loader that has ever given two shapes is always read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from vramfit import values
from vramfit.base import process
from vramfit.contract import asked
from vramfit.observe import loaders, repeat
from vramfit.observe.loaders import Pass

_ENOUGH = 3  # batches of one shape: an evaluation gets no more
_READ_EVERY = 4
_ENOUGH_IN_FULL = 32  # before a pass in full is given batches again
_WAITING = 0.5  # of a pass in full, the least share of its time that goes into reading


@dataclass
class _Seen:
    outline: Any  # None once the batches differ, or hold what cannot be given twice
    batch: Any = None
    count: int = 1
    spared: int = 0  # passes in a row that read nothing


class _State:
    KEEPS = ("parents",)

    def __init__(self) -> None:
        self.seen: dict[int, _Seen] = {}  # by the loader's ordinal
        self.parents: list[dict[int, _Seen]] = []

    def in_child(self) -> None:
        # A forked child may not let go of the batches: they may be pinned, and it can't use the parent's device.
        self.parents.append(self.seen)


_state = process.own(_State)


def learn(this_pass: Pass, batch: Any) -> None:
    """A batch was read."""
    known = _state.seen.get(this_pass.ordinal)
    if known is None:
        outline = repeat.outline(batch)
        known = _state.seen[this_pass.ordinal] = _Seen(outline, None if outline is None else repeat.views_of(batch))
    elif known.outline is not None:
        known.count += 1
        if repeat.outline(batch) != known.outline:
            known.outline = known.batch = None
    known.spared = 0


def instead(this_pass: Pass) -> Any:
    """A batch for a pass in full that mostly waits for its data, where all data was found to be of one shape: three of
    four are not read. None to read."""
    if not this_pass.in_full or loaders.is_split(this_pass.loader) or loaders.length_of(this_pass.loader) is None:
        return None
    known = _state.seen.get(this_pass.ordinal)
    if known is None or known.outline is None or known.count < _ENOUGH_IN_FULL or values.policy() != asked.VALUES_ZEROS:
        return None
    waited = this_pass.reading_seconds > _WAITING * (time.monotonic() - this_pass.began)
    if not waited or not this_pass.all_alike or known.spared + 1 >= _READ_EVERY:
        known.spared = 0 if known.spared + 1 >= _READ_EVERY else known.spared
        return None
    known.spared += 1
    return repeat.views_of(known.batch)


def stand_in(this_pass: Pass) -> Any:
    """A batch for a pass that only coasts; None when it has to read."""
    if loaders.length_of(this_pass.loader) is None:
        return None
    known = _state.seen.get(this_pass.ordinal)
    if known is None or known.outline is None or known.count < _ENOUGH or values.policy() != asked.VALUES_ZEROS:
        return None
    if known.spared + 1 >= _READ_EVERY:
        return None
    known.spared += 1
    return known.batch
