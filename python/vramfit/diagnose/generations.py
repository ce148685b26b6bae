"""Tensors that outlive the step that made them, step after step: what grows, and who holds it.

    step            1     2     3     4
    made in 1     [...........................    kept: still there two steps later
    made in 2           [.....................    kept, and of the same kind: memory grows
    logits of 2         [.....]                   a variable that the next step overwrites

At the end of a step the tensors on cards are listed. Those that came in one step and those of the same kind that came
in the next, all still alive a step after that, are kept by something: its name is searched. A step's end costs some
30 ms while listed, so later steps are only listed when more memory is allocated than ever before.
"""

from __future__ import annotations

import time
import weakref
from typing import Any

from vramfit.base import notes, process, recorder
from vramfit.contract import notes as said
from vramfit.diagnose import counts, cycles, graphs, groups, live_tensors, sizes

_ALWAYS_LISTED = 5  # steps of a phase
_MAX_NOTES = 4  # of a phase, or pass
_BUDGET_SECONDS = 5.0  # of the processor, listing and searching, in one process

_Made = dict[live_tensors.Signature, list["weakref.ref[Any]"]]


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.spent = 0.0  # seconds, in all generations


_state = process.own(_State)


class Generations:
    """The steps of one phase (training), or the batches of one evaluation."""

    def __init__(self, phase: int) -> None:
        self.phase = phase
        self.steps = 0
        self._seen: dict[int, weakref.ref[Any]] = {}  # id of a tensor -> itself, of the last listing
        self._made: list[_Made] = []  # of the last listings in a row
        self._highest = -1
        self._rising = 0  # steps in a row that ended with more allocated than ever
        self._notes = 0
        self._graphs = graphs.Lengths()
        self._counts = counts.Counts()
        self._counted = 0  # notes of these
        self._sizes = sizes.Sizes()
        self._nameless = False  # what was noted last has no name that holds it

    def step_ends(self) -> None:
        self.steps += 1
        level = recorder.allocated()
        rises = level > self._highest
        self._rising = self._rising + 1 if rises else 0
        self._highest = max(level, self._highest)
        self._count()
        if longer := self._sizes.look():
            self._note(longer, [])
        if self.steps > _ALWAYS_LISTED and not (rises and _state.spent < _BUDGET_SECONDS):
            self.pause()
            return
        if self._notes >= _MAX_NOTES:
            return
        begun = time.thread_time()
        self._list()
        kept = self._kept()
        longer = self._graphs.measure()
        if kept or longer:
            self._write(kept, longer)
        _state.spent += time.thread_time() - begun

    @property
    def rises(self) -> bool:
        """More after each of the last three steps."""
        return self._rising >= 3

    def pause(self) -> None:
        """Something else ran on the card meanwhile: the next step starts a new row of listings."""
        self._made.clear()
        self._seen.clear()

    def _list(self) -> None:
        known = live_tensors.known_storages()
        made: _Made = {}
        seen: dict[int, weakref.ref[Any]] = {}
        for tensor in live_tensors.without(live_tensors.find_all(), known):
            before = self._seen.get(id(tensor))
            if before is not None and before() is tensor:
                seen[id(tensor)] = before
                continue
            reference = weakref.ref(tensor)
            seen[id(tensor)] = reference
            made.setdefault(live_tensors.signature_of(tensor), []).append(reference)
        is_first = not self._seen and self.steps > 1  # everything would count as made in this step
        self._seen = seen
        self._made = [*self._made[-2:], {} if is_first else made]

    def _count(self) -> None:
        if not self._counts.is_due(self.steps) or _state.spent >= _BUDGET_SECONDS:
            return
        begun = time.thread_time()
        growing: list[Any] = self._counts.look(self.steps)
        if growing and self._counted < _MAX_NOTES:
            self._counted += 1
            self._note(growing, [])
        growing.clear()  # nothing of ours holds what the collector is asked for
        if self._nameless:
            cycles.collect()
        _state.spent += time.thread_time() - begun

    def _kept(self) -> list[Any]:
        """Tensors of the generation before the last but one, where the one after it kept its like as well."""
        if len(self._made) < 3:
            return []
        older, newer, _ = self._made
        kept = []
        for signature, references in older.items():
            old = [tensor for tensor in (reference() for reference in references) if tensor is not None]
            new = [tensor for tensor in (reference() for reference in newer.get(signature, ())) if tensor is not None]
            if old and new:
                kept += old + new
        return kept

    def _write(self, kept: list[Any], longer: list[said.GrowingGraph]) -> None:
        self._notes += 1
        self._note(kept, longer)

    def _note(self, kept: list[Any], longer: list[said.GrowingGraph]) -> None:
        tensors = groups.describe(kept)
        self._nameless = cycles.are_possible(tensors)
        notes.note(
            said.KeptAcrossSteps(
                phase=recorder.PHASE_NAMES[self.phase],
                at_ns=time.monotonic_ns(),
                tensors=tensors,
                graphs=longer,
            )
        )
