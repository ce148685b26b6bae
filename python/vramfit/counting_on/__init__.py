"""Counting on: once the budget of a run is used, its loops are moved on to what they have not done yet.

    for step in range(100_000):        # 1,800 of them were run in full
        train(blocks[: 2 + step // 900])
        if step % 10_000 == 9_999: evaluate()

    1,800 in full | 9,999 | 26,350 | 50,900 | 75,450 | 99,999 | what comes after the loop

Where tests of a counter turn (targets.py), and at a few values between here and the end of a range, two rounds are run
with the counter moved there. What lies between is left out and said to be. The state of a script that was moved on is
not the one it would have had: where it fails for that, the run ends there, as one that was ended early.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType

from vramfit import notes
from vramfit.counting_on import counters, targets
from vramfit.counting_on.counters import Counter
from vramfit.counting_on.targets import ROUNDS_EACH
from vramfit.coverage.source import Source, passed_to
from vramfit.diagnose import frames

_MAX_MOVES = 64
_MAX_FRAMES = 200
_FEW = 8  # values left of a range: not worth it
_MAX_TOLD = 6


@dataclass
class Tests:
    """Those of a script in which a counter may be read, and those of them that end its loop."""

    names: targets.Names
    tests: list[ast.expr] = field(default_factory=list)
    bounds: list[ast.expr] = field(default_factory=list)


class Counting:
    """What was moved on in this process."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self._rounds_left = 0
        self._moves = 0
        self._wanted: dict[tuple[str, int, str], list[int]] = {}  # by counter: what it is still to be moved to
        self._moved: dict[tuple[str, int, str], tuple[int, list[int]]] = {}  # from where, and to where
        self._sources: dict[str, Source | None] = {}

    @property
    def has_moved(self) -> bool:
        return bool(self._moved)

    def goes_on(self, frame: FrameType, count: int, length: int | None = None, *, in_round: bool = False) -> bool:
        """At the end of a step (or, `in_round`, of a pass) past the budget: whether the next one is still wanted.

        `count`: batches and steps so far; `length`: batches of the pass that the script is in, where it is in one. Then
        the loops around it are left alone: they go on when the pass has ended.
        """
        if self._rounds_left > 0:
            self._rounds_left -= 1
            return True
        if self._moves >= _MAX_MOVES:
            return False
        try:
            for counter, source, here in self._counters(frame, count, length):
                if length is not None and counter.spread:
                    continue
                if counter.is_done():  # the loop ends by itself, and what comes after it is reached
                    self._moves += 1
                    return True
                if self._move(counter, source, here):
                    self._rounds_left = 0 if in_round else ROUNDS_EACH - 1
                    return True
        except Exception as error:
            notes.hook_failed("counting_on", error)
        return False

    def _move(self, counter: Counter, source: Source, frame: FrameType) -> bool:
        is_again = counter.place in self._wanted
        if not is_again:
            self._wanted[counter.place] = _wanted_of(counter, self._tests(counter, source, frame))
        wanted = [value for value in self._wanted[counter.place] if value in counter.ahead]
        if not wanted and is_again and counter.spread and len(counter.ahead) > _FEW:
            wanted = [counter.ahead[-1]]  # its loop was begun anew
        if not wanted or not counter.move(wanted[0]):
            return False
        self._wanted[counter.place] = wanted[1:]
        self._moves += 1
        self._moved.setdefault(counter.place, (counter.ahead.start - counter.ahead.step, []))[1].append(wanted[0])
        return True

    def _counters(
        self, frame: FrameType, count: int, length: int | None
    ) -> Iterator[tuple[Counter, Source, FrameType]]:
        here: FrameType | None = frame
        for _ in range(_MAX_FRAMES):
            if here is None:
                return
            source = self._source(here)
            if source is not None:
                for counter in counters.find(source, here, count, length):
                    yield counter, source, here
            here = here.f_back

    def _source(self, frame: FrameType) -> Source | None:
        file = frame.f_code.co_filename
        if file not in self._sources:
            self._sources[file] = _read(file) if frames.is_script(frame.f_code) else None
        return self._sources[file]

    def _tests(self, counter: Counter, source: Source, frame: FrameType) -> Tests:
        """Where the script reads it: in the function that counts, and in those it is given to."""
        names = counters.names_of(frame)
        scope = counters.scope_of(source, frame)
        if scope is None:
            return Tests(names)
        tests, bounds = list(targets.tests_in(scope)), list(targets.bounds_in(scope))
        if "." in counter.name:  # an attribute is read anywhere
            for function in (function for functions in source.functions.values() for function in functions):
                tests += targets.tests_in(function)
                bounds += targets.bounds_in(function)
        for function, parameter in passed_to(source, scope, counter.is_written_as):
            tests += [targets.renamed(test, parameter, counter.name) for test in targets.tests_in(function)]
        return Tests(names, tests, bounds)

    def tell(self) -> None:
        """Once, when the run ends: from where to where."""
        for (file, line, name), (start, values) in self._moved.items():
            shown = [f"{value:,}" for value in values[:_MAX_TOLD]]
            if len(values) > _MAX_TOLD:
                shown = [*shown[: _MAX_TOLD - 1], f"{values[-1]:,}"]
            place = frames.spelled(file, line, "").removesuffix(" in ")
            text = f"`{name}` was counted on from {start:,} to {', '.join(shown)} ({place}): the rest was left out"
            notes.note("cut", what="counted", text=text, loader=None, kept=len(values), of=None)
        self._moved.clear()


def _wanted_of(counter: Counter, tests: Tests) -> list[int]:
    so_far, ahead = counter.so_far, counter.ahead
    ends = targets.find(tests.bounds, tests.names, counter.is_written_as, so_far, ahead)
    found = {*ends, *targets.find(tests.tests, tests.names, counter.is_written_as, so_far, ahead)}
    to_go = ahead if counter.spread else ahead[: ahead.index(ends[0])] if ends else range(0)
    if len(to_go) > _FEW:
        found |= targets.spread(to_go)
    return sorted(found, reverse=ahead.step < 0)


def _read(file: str) -> Source | None:
    try:
        with open(file, "rb") as text:
            return Source(file, ast.parse(text.read()), set())
    except (OSError, SyntaxError, ValueError):
        return None


counting = Counting()


def _restart() -> None:
    counting.begin()


os.register_at_fork(after_in_child=_restart)


def ends_here(error: BaseException) -> bool:
    """Whether an error that nobody handles is this module's doing: the script was moved on before it."""
    if not counting.has_moved:
        return False
    text = f"a script that was counted on ended in {type(error).__name__}: {str(error)[:200]}"
    notes.note("cut", what="stopped", text=text, loader=None, kept=None, of=None)
    counting.tell()
    return True
