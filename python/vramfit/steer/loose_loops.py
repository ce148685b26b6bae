"""Loops without a loader: steps of an optimizer outside of any pass, and a model that is called again and again."""

from __future__ import annotations

import time

from vramfit.base import notes, recorder
from vramfit.contract import notes as said
from vramfit.observe.phases import position
from vramfit.steer.peaks import has_grown, read_peaks

_LOOSE_STEPS = 6  # of a hand-written loop without a loader
_MAX_LOOSE_STEPS = 30
_FEWEST_FORWARDS = 50  # in a row without a batch or a step, before a run is ended that does nothing else
_IDLE_SECONDS = 10.0


class LooseSteps:
    """Optimizer steps outside any loader pass."""

    def __init__(self) -> None:
        self.count = 0
        self.peaks: list[list[int]] = []

    def take(self) -> str:
        """One more. Why the run may end; empty: it goes on."""
        self.count += 1
        self.peaks.append(read_peaks())
        recorder.reset_peaks()
        steps = self.count
        if steps < _LOOSE_STEPS:
            return ""
        last = self.peaks[-3:]
        # The first step lacks the optimizer's state before it; the rest must agree.
        steady = not has_grown(last[0], last[1]) and not has_grown(last[0], last[2])
        if steady and position.evaluated:
            return f"memory was steady over {steps} optimizer steps, evaluation included"
        if steps >= _MAX_LOOSE_STEPS:
            if not steady:
                text = f"memory was still growing after {steps} steps: perhaps a leak"
                notes.note(said.Growth(text=text))
            seen = "" if position.evaluated else "; no evaluation came up to then"
            return f"{steps} optimizer steps were run{seen}"
        return ""


class IdleCalls:
    """The model's calls in a row without a batch or a step."""

    def __init__(self) -> None:
        self.since: float | None = None  # the first of them
        self.count = 0

    def take(self) -> str:
        """One more. Why a run is ended that does nothing else; empty: it goes on."""
        now = time.monotonic()
        self.since = self.since or now
        self.count += 1
        if self.count >= _FEWEST_FORWARDS and now - self.since > _IDLE_SECONDS:
            return f"a model was called {self.count} times in a row without a loader or a training step"
        return ""

    def end(self) -> None:
        """A batch came or a step was taken."""
        self.since, self.count = None, 0
