"""Counting on: once the budget of a run is used, its loops are moved on to what they have not done yet.

    for step in range(100_000):        # 1,800 of them were run in full
        train(blocks[: 2 + step // 900])
        if step % 10_000 == 9_999: evaluate()

    1,800 in full | 9,999 | 26,350 | 50,900 | 75,450 | 99,999 | what comes after the loop

Where tests of a counter turn (targets.py), and at a few values between here and the end of a range, two rounds are run
with the counter moved there. What lies between is left out and said to be. The state of a script that was moved on is
not the one it would have had: where it fails for that, the run ends there, as one that was ended early (failures.py).
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import NamedTuple

from vramfit.base import frames, notes, process
from vramfit.contract import notes as said
from vramfit.steer.counting_on import counters, stack, targets, uses, variables
from vramfit.steer.counting_on.counters import Counter
from vramfit.steer.counting_on.rounds import MOST, Levels, Rounds
from vramfit.steer.counting_on.scripts import source_of
from vramfit.steer.counting_on.targets import ROUNDS_EACH
from vramfit.steer.coverage import lines
from vramfit.steer.coverage.source import Source, in_words_of, passed_to

_MAX_MOVES = 64
_MOVES_OF_FIRST_ROUNDS = 32  # past so many, a loop that is begun anew only comes to its end
_MAX_FRAMES = 200
_FEW = 8  # values left of a range: not worth it
_MAX_TOLD = 6
_MAX_WAITS = 4  # rounds in which variables are observed

Place = tuple[str, int, str]


class Now(NamedTuple):
    """Where a run is when it is asked whether it goes on."""

    kind: str  # what has ended: "step" of a loop without a loader, "batch" of a pass, "round" of passes
    key: Hashable  # which one: its optimizer
    count: int  # type: ignore[assignment]  # batches and steps so far, not what every tuple has
    steps: int  # optimizer steps so far
    level: int  # allocated bytes
    length: int | None = None  # batches of the pass that the script is in


@dataclass
class Tests:
    """Those of a script in which a counter may be read, and those of them that end its loop."""

    names: targets.Names
    tests: list[ast.expr] = field(default_factory=list)
    bounds: list[ast.expr] = field(default_factory=list)


@dataclass
class Plan:
    """The values that one counter is still to be moved to; `ends` are where its own loop would end."""

    values: list[int]
    ends: list[int]
    iterator: object = None  # counters.identity_of it


@dataclass
class Moved:
    start: int
    first: int  # what would have come next
    values: list[int]
    used_at: str = ""

    def furthest(self) -> int:
        return max(self.values, key=lambda value: abs(value - self.start))


class Counting:
    """What was moved on in this process."""

    def __init__(self) -> None:
        self.levels = Levels()
        self._rounds: Rounds | None = None
        self._moves = 0
        self._waits = 0
        self._plans: dict[Place, Plan] = {}
        self._begun_again: set[Place] = set()
        self._moved: dict[Place, Moved] = {}
        self._unclear: dict[str, str] = {}  # tests that could not be computed, by where they are
        self._observed = variables.Observed()
        self._last: tuple[str, int, int] = ("", 0, 0)  # counter, value and optimizer steps of the last move
        self._told_rise = False
        self._raised: set[tuple[str, int]] = set()  # where exceptions had come up before the first move

    @property
    def has_moved(self) -> bool:
        return bool(self._moved)

    def goes_on(self, frame: FrameType, now: Now) -> bool:
        """Whether the next one is still wanted, asked at the end of a step, batch or round past the budget.

        Within a pass the loops around it are left alone: they go on when the pass has ended.
        """
        if self._rounds is not None and self._rounds.kind == now.kind:
            if self._rounds.goes_on(now.key, now.level):
                return True
            self._tell_late_rise(self._rounds)
            self._rounds = None
        if self._moves >= _MAX_MOVES:
            return False
        try:
            return self._moves_on(list(self._counters(frame, now)), now)
        except Exception as error:
            notes.hook_failed("counting_on", error)
        return False

    def _moves_on(self, found: list[tuple[Counter, Source, FrameType]], now: Now) -> bool:
        if now.length is not None:
            found = [each for each in found if not each[0].spread]
        for counter, source, here in found:
            if counter.spread and counter.ahead:
                self._plan_of(counter, source, here)  # where it was begun anew, variables are to be seen again first
        has_range = any(counter.spread for counter, _, _ in found)
        ends_itself = False
        for with_ends in (False, True):
            for counter, source, here in found:
                if counter.is_done():  # the loop ends by itself, and what comes after it is reached
                    ends_itself = True
                elif self._move(counter, source, here, with_ends or counter.spread or not has_range, now):
                    return True
            if ends_itself:
                self._moves += 1
                return True
        if self._waits < _MAX_WAITS and self._observed.waits():
            self._waits += 1
            return True
        return False

    def _move(self, counter: Counter, source: Source, frame: FrameType, with_ends: bool, now: Now) -> bool:
        plan = self._plan_of(counter, source, frame)
        values = sorted({*plan.values, *(plan.ends if with_ends else [])}, reverse=counter.ahead.step < 0)
        values = [value for value in values if value in counter.ahead]
        if not values or not counter.move(values[0]):
            return False
        plan.values = [value for value in plan.values if value != values[0]]
        plan.ends = [value for value in plan.ends if value != values[0]]
        self._moves += 1
        if not self._moved:
            self._raised = set(lines.seen.raised)
        if counter.place not in self._moved:
            used_at = uses.first_of(counter, source, counters.scope_of(source, frame))
            self._moved[counter.place] = Moved(
                counter.ahead.start - counter.ahead.step, counter.ahead.start, [], used_at
            )
        self._moved[counter.place].values.append(values[0])
        self._last = (counter.name, values[0], now.steps)
        # In the last round of a loop the one around it may be moved on.
        left = len(counter.ahead) - counter.ahead.index(values[0]) if counter.spread else MOST
        wanted = 1 if now.kind == "round" else min(ROUNDS_EACH, left)
        most = wanted if self._told_rise else max(wanted, min(MOST, left))
        self._rounds = Rounds(now.kind, now.key, wanted, most, self.levels.usual_rise())
        return True

    def _plan_of(self, counter: Counter, source: Source, frame: FrameType) -> Plan:
        plan = self._plans.get(counter.place)
        iterator = counters.identity_of(getattr(counter, "iterator", None))
        if plan is not None and plan.iterator is not iterator:  # its loop was begun anew
            if self._moves < _MOVES_OF_FIRST_ROUNDS:
                plan = None
                self._begin_again(counter.place)
            else:
                last = [counter.ahead[-1]] if counter.spread and len(counter.ahead) > _FEW else []
                plan = self._plans[counter.place] = Plan(last, [], iterator)
        if plan is None:
            plan = self._plans[counter.place] = self._made_of(counter, self._tests(counter, source, frame))
            plan.iterator = iterator
        return plan

    def _begin_again(self, place: Place) -> None:
        """A loop is begun anew, and what it does may be larger now: what its tests and those of variables turn at is
        to be seen again."""
        self._begun_again.add(place)
        for other, plan in list(self._plans.items()):
            if plan.iterator is None:
                self._begun_again.add(other)
                del self._plans[other]

    def _made_of(self, counter: Counter, tests: Tests) -> Plan:
        so_far, ahead = counter.so_far, counter.ahead
        is_again = counter.place in self._begun_again
        if is_again:
            so_far = so_far[-1:]
        ends = targets.find(tests.bounds, tests.names, counter.is_written_as, so_far, ahead)
        found = targets.find(tests.tests, tests.names, counter.is_written_as, so_far, ahead)
        for test in (*ends.unclear, *found.unclear):
            self._unclear.setdefault(ast.unparse(test)[:80], counter.name)
        first_end = sorted(ends.turns, reverse=ahead.step < 0)[:1]
        to_go = ahead if counter.spread else ahead[: ahead.index(first_end[0])] if first_end else range(0)
        spread: set[int] = set()
        if len(to_go) > _FEW:
            spread = {to_go[-1]} if is_again else targets.spread(to_go)
        return Plan(sorted((found.turns | spread) - ends.turns), sorted(ends.turns))

    def _counters(self, frame: FrameType, now: Now) -> Iterator[tuple[Counter, Source, FrameType]]:
        here: FrameType | None = frame
        for _ in range(_MAX_FRAMES):
            if here is None:
                return
            source = source_of(here.f_code)
            scope = counters.scope_of(source, here) if source is not None else None
            if source is not None and scope is not None:
                for counter in self._of_frame(source, scope, here, now):
                    yield counter, source, here
            here = here.f_back

    def _of_frame(self, source: Source, scope: ast.AST, frame: FrameType, now: Now) -> Iterator[Counter]:
        """The counters from the innermost loop outwards: what is counted in its body, and then the loop itself."""
        names = counters.names_of(frame)
        counted = list(variables.find(source, scope, frame, names, now.count, self._observed))
        headers = {node.lineno: node for node in ast.walk(scope) if isinstance(node, ast.For)}
        for loop in reversed(stack.loops(frame)):
            header = headers.get(loop.line)
            if header is not None:
                yield from (variable for variable, around in counted if around is header)
                yield from counters.of_loop(source, header, loop.iterator, now.count, now.length)
                counted = [each for each in counted if each[1] is not header]
        yield from (variable for variable, _ in counted)

    def _tests(self, counter: Counter, source: Source, frame: FrameType) -> Tests:
        """The tests where the script reads it: in the function that counts, and in those it is given to."""
        names = counters.names_of(frame)
        scope = counters.scope_of(source, frame)
        if scope is None:
            return Tests(names)
        found = Tests(names)
        self._add_tests(scope, found)
        if "." in counter.name:  # an attribute is read anywhere
            for function in (function for functions in source.functions.values() for function in functions):
                self._add_tests(function, found)
        for passed in passed_to(source, scope, counter.is_written_as):
            own = Tests(names)
            self._add_tests(passed.function, own)
            found.tests += [in_words_of(test, passed.given) for test in own.tests]
        return found

    @staticmethod
    def _add_tests(scope: ast.AST, into: Tests) -> None:
        bound = targets.spelled_out(scope, into.names)
        into.tests += [each for test in targets.tests_in(scope) for each in targets.each_of(test, bound)]
        into.bounds += targets.bounds_in(scope)

    def _tell_late_rise(self, rounds: Rounds) -> None:
        """What grows only from a late step on: which lines it is, and where it ends, is found in the recording."""
        rise = rounds.late_rise()
        if rise <= 0 or self._told_rise:
            return
        self._told_rise = True
        _, value, steps = self._last
        notes.note(said.LateGrowth(value=value, steps=steps, rounds=rounds.count, bytes_per_round=rise))

    def _tell_handled(self, ended_at: set[tuple[str, int]]) -> None:
        """Errors that came up for the first time after a move, and did not end the script: it handled them."""
        handled = sorted(lines.seen.raised - self._raised - ended_at) if self._moved else []
        if handled:
            shown = ", ".join(frames.spelled_line(file, line) for file, line in handled[:3])
            text = f"after its loops were counted on, the script handled errors that had not come before ({shown})"
            notes.note(said.Open(text=text + ": what it would have done there was not seen"))

    def tell(self, ended_at: set[tuple[str, int]]) -> set[tuple[str, int]]:
        """Tells once, when the run ends (of an error: at these files and lines), from where to where. Returns the
        places of what was moved."""
        moved_on = {place: moved for place, moved in self._moved.items() if moved.furthest() != moved.first}
        for (file, line, name), moved in moved_on.items():
            shown = [f"{value:,}" for value in moved.values[:_MAX_TOLD]]
            if len(moved.values) > _MAX_TOLD:
                shown = [*shown[: _MAX_TOLD - 1], f"{moved.values[-1]:,}"]
            place = frames.spelled_line(file, line)
            text = (
                f"`{name}` was counted on from {moved.start:,} to {', '.join(shown)} ({place}): the rest was left out"
            )
            notes.note(said.Cut(what="counted", text=text))
            reads = f"; `{name}` is also computed with, at {moved.used_at}" if moved.used_at else ""
            tell_left_out(f"rounds of the loop at {place} (`{name}`)", moved.start, moved.furthest(), reads)
        places = {(file, line) for file, line, _ in moved_on}
        for test, name in list(self._unclear.items())[:_MAX_TOLD]:
            notes.note(said.Open(text=f"when `{test}` turns could not be computed from `{name}`"))
        self._tell_handled(ended_at)
        self._moved.clear()
        self._unclear.clear()
        return places


def tell_left_out(what: str, start: int, last: int, reads: str = "") -> None:
    """Tells that the rounds after `start` were left out."""
    first = start + (1 if last > start else -1)
    unseen = "what piles up over them, or depends on their number, was not seen"
    notes.note(said.Open(text=f"{what} {first:,} to {last:,} were left out but for a few: {unseen}{reads}"))


counting = process.own(Counting)
