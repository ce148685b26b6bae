"""The number that `for i, batch in enumerate(loader)` gives where batches come in parts: that of the batch, for each.

    batch       0   0   1   1   2   2   3   3
    enumerate   0   1   2   3   4   5   6   7     without this
    i           0   0   1   1   2   2   3   3     what is trained by it (a weight, a rate, own accumulation) is the same
    i           0   0   0   1   1   2   2   3     where, after the training, it decides that this was the last batch

In the last row a part that more follow of has the number before: the loop went on after it once, and goes on again.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

from vramfit.apply.split_sampler import Share
from vramfit.steer.counting_on import counters, stack


class BatchNumbers:
    """The numbers of the batches in one pass over a loader."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.is_known = False  # enumerate() was found, and gives what it is told
        self._first: int | None = None  # number of the first batch
        self._batch = 0  # number of the batch that is given in parts
        self._next: int | None = None  # what enumerate() would give next

    def number(self, frame: FrameType, share: Share, ends_loop: bool) -> None:
        """`frame`: the function whose loop asks for a part. `ends_loop`: its number ends the loop."""
        enumerated = _enumerate_of(frame)
        self.is_known = enumerated is not None
        if enumerated is None:
            return
        current = counters.number_of(enumerated)
        if current != self._next:  # its first, or somebody moved it on (counting_on)
            self._batch = current
        elif share.is_first:
            self._batch += 1
        if self._first is None:
            self._first = current
        waits = ends_loop and not share.is_last and self._batch > self._first
        value = self._batch - 1 if waits else self._batch
        self.is_known = value == current or counters.put_number(enumerated, value)
        self._next = value + 1


def _enumerate_of(frame: FrameType) -> Any:
    """That which the frame's innermost loop goes through, if its number can be changed."""
    loops = stack.loops(frame)
    for each in counters.within(loops[-1].iterator) if loops else ():
        if type(each) is enumerate and counters.can_number(each, counters.number_of(each)):
            return each
    return None
