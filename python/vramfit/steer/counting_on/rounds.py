"""Rounds that a loop goes through after it was moved on, and whether memory rises in them as it did not before.

level      ____/      moved to 3,000: two rounds are run, and while memory rises from each to the next by more than
    ______|           it did from step to step before, some more. A rise in all of them began late.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections import deque
from collections.abc import Hashable, Iterable

MOST = 8  # rounds of one move where memory rises
_FEWEST_RISES = 5
_REMEMBERED = 64  # steps before
_LEAST_RISE = 64 << 10


class Levels:
    """Allocated bytes at the end of the last steps that were run in full."""

    def __init__(self) -> None:
        self._levels: deque[int] = deque(maxlen=_REMEMBERED)

    def add(self, level: int) -> None:
        self._levels.append(level)

    def usual_rise(self) -> int:
        return max([_LEAST_RISE, *_rises(self._levels)])


class Rounds:
    """Those of one move. What ends a round is told by `key` (its optimizer, say): a round of a GAN has two steps."""

    def __init__(self, kind: str, key: Hashable, wanted: int, most: int, usual_rise: int) -> None:
        self.kind, self._key, self._wanted, self._usual_rise = kind, key, wanted, usual_rise
        self._most = most
        self._ended: Tally[Hashable] = Tally()
        self._levels: list[int] = []

    def goes_on(self, key: Hashable, level: int) -> bool:
        """Whether the next round belongs to this move too, asked at what may be the end of one."""
        self._ended[key] += 1
        others = max((count for other, count in self._ended.items() if other != self._key), default=0)
        done = max(self._ended[self._key], others - 1)  # the round that it was moved in has others to come
        if key == self._key:
            self._levels.append(level)
        elif others - 1 < self._wanted:
            return True
        return done < self._wanted or (done < self._most and self._rises())

    def _rises(self) -> bool:
        return len(self._levels) == 1 or all(rise > self._usual_rise for rise in _rises(self._levels[-3:]))

    def late_rise(self) -> int:
        """Bytes by which memory rose in every one of its rounds; 0 when it did not."""
        rises = list(_rises(self._levels[1:]))  # the first may be what the move itself asks for
        if len(rises) < _FEWEST_RISES or min(rises) <= self._usual_rise:
            return 0
        return sum(rises) // len(rises)

    @property
    def count(self) -> int:
        return len(self._levels)


def _rises(levels: Iterable[int]) -> Iterable[int]:
    known = list(levels)
    return (after - before for before, after in zip(known, known[1:]))
