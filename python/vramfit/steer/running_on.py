"""Running on: everything in full, for as long as a budget lasts (VRAMFIT_RUN_ON).

    VRAMFIT_RUN_ON=20     seconds from the first use of a loader or a model on, as an idle machine would take them
    VRAMFIT_RUN_ON=8-20   as 20, but it may end after 8: where three quarters of the batches brought no higher peak
    VRAMFIT_RUN_ON=120n   batches and steps: what several ranks, or two runs of one script, agree on without a clock

    train 1 .. 500 | validate 1 .. 80 | train 1 .. 213 | validate 1 | train 1 | ... | end, or stopped
    `--------------- in full -------------------------' `--------- cut -----------'
                                                 ^ the budget is used

Several ranks have no common clock, but go through the same batches: the first whose seconds are used says after how
many batches and steps all of them are cut, a few from then. Once a run has seen what a short one would have, it leaves
the file `so_far` in its run folder: from then on it has an answer, also when it is interrupted.

Nothing is cut early to reach what comes after the loops: a shortened run of the same script sees that better. Loops
that can't be cut (no loader, one long iterator drawn from by hand) are stopped instead.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from vramfit.base import ranks
from vramfit.base.own_time import Stopwatch
from vramfit.contract import told

_SHARE_IN_FULL = 0.8  # of the seconds; the rest is for what comes after the loops
_SO_FAR_COUNT = 8  # batches and steps, and the seconds, after which there is an answer so far
_SO_FAR_SECONDS = 2.0
_AHEAD = 16  # batches and steps: collectives keep ranks closer together than that
_IDLE_SHARE = 0.25  # of the seconds past their end, without a batch or a step, that are too many
_IDLE_SECONDS = 2.0  # at least so many
_MOST_SHARES = 3.0  # of the seconds, for a run that has no answer yet
_SETTLED_TIMES = 4  # as many batches as there were until the highest peak, and no higher one
_NOTABLE = 1.001  # a higher peak than this times the one before is where the run has to come to again


class Budget:
    """How much of it there is, and how much was used."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Afresh, as the environment says now."""
        text = os.environ.get("VRAMFIT_RUN_ON", "").strip()
        self.count_limit = int(text[:-1]) if text.endswith("n") and text[:-1].isdigit() else None
        least, _, most = text.rpartition("-")
        self.seconds = 0.0 if self.count_limit is not None else _seconds(most)
        self.settled_seconds = min(_seconds(least), self.seconds) or self.seconds
        self.whole = self.count_limit is not None or self.seconds > 0  # everything is delivered
        self.is_wanted = self.whole
        self.watch: Stopwatch | None = None  # since the first use
        self.count = 0  # batches, and steps outside of passes
        self.weight = 1.0  # of one of them: a plan may split each into several
        self.peak = 0
        self.peak_at = 0  # count when the peak last rose
        self.told_so_far = False
        self.progressed = 0.0  # when the last batch, step or forward came

    def start(self) -> None:
        self.watch = self.watch or Stopwatch()

    def progress(self) -> None:
        self.progressed = time.monotonic()

    def is_overdue(self) -> bool:
        """Used up, and nothing came for long where it would have been noticed."""
        if not self.is_wanted or self.seconds <= 0 or self.watch is None or ranks.count() > 1:
            return False
        share = 1.0 if self.count >= _SO_FAR_COUNT else _MOST_SHARES
        idle = time.monotonic() - self.progressed
        return self.used_seconds() > self.seconds * share and idle > max(_IDLE_SECONDS, self.seconds * _IDLE_SHARE)

    def used_seconds(self) -> float:
        return 0.0 if self.watch is None else self.watch.seconds()

    def spend(self, peak: int) -> bool:
        """One batch or step more, with the peak until it. True when it was the last of the budget."""
        self.start()
        if peak > self.peak * _NOTABLE:
            self.peak, self.peak_at = peak, self.count
        self.count += 1
        self._tell_so_far()
        if not self.whole:
            return False
        if self.count_limit is not None:
            self.whole = self.count * self.weight < self.count_limit
        elif ranks.count() > 1:
            self.whole = not self._all_ranks_are_done()
        else:
            self.whole = self.used_seconds() < self.seconds * _SHARE_IN_FULL and not self._has_settled()
        return not self.whole

    def _has_settled(self) -> bool:
        """Whether the rest of the seconds would most likely show what was seen: the peak came early, and stayed."""
        is_allowed = self.settled_seconds < self.seconds
        if not is_allowed or self.used_seconds() < self.settled_seconds * _SHARE_IN_FULL:
            return False
        if self.count < _SO_FAR_COUNT or self.peak_at * _SETTLED_TIMES > self.count:
            return False
        self.seconds = self.settled_seconds  # what comes after the loops has its share of these
        return True

    def _all_ranks_are_done(self) -> bool:
        is_used = self.used_seconds() >= self.seconds * _SHARE_IN_FULL
        limit = ranks.agree(self.count + _AHEAD if is_used else None)
        return limit is not None and self.count >= limit

    def _tell_so_far(self) -> None:
        if self.told_so_far or self.count < _SO_FAR_COUNT or self.used_seconds() < _SO_FAR_SECONDS:
            return
        self.told_so_far = True
        folder = os.environ.get("VRAMFIT_RUN_DIR")
        if folder:
            Path(folder, told.SO_FAR_FILE).touch()

    def is_over(self) -> bool:
        """The seconds for what comes after the loops are used too."""
        is_late = self.is_wanted and self.seconds > 0 and self.used_seconds() > self.seconds
        return is_late and ranks.count() == 1  # a rank that ends alone leaves the others waiting


def _seconds(text: str) -> float:
    try:
        return max(0.0, float(text or 0))
    except ValueError:
        return 0.0
