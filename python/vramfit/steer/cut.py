"""Makes a job that trains for days answer in seconds: a few batches a pass, and an end once memory is steady.

VRAMFIT_STEPS: `auto` (default) cuts and stops; `quick` does, without coasting; `all` does neither; a number keeps that
many batches of every pass.

Automatic stopping, in rounds. A round begins with a pass over training data (or, without a loader, with training again
after an evaluation):

    train 4 batches | validate 3 | save || train 4 | validate 3 | save || train 1 | validate 1 | ... | stop
    `------------- round 1 ------------'  `---------- round 2 -------'    coasting
    peaks of round 2 <= peaks of round 1: steady

An evaluation whose memory grows with every batch (predictions are gathered on card) is not cut: it goes on, with its
last batch again and again, for as long as memory grows. So does every evaluation under VRAMFIT_EVALUATION=whole, with
which a script is run again that failed because it counts what it has seen.

With a budget to run on (running_on.py) none of this begins before the budget is used: until then everything is
delivered.

While coasting every pass gets one batch, so that what comes after the loop (a last test, a last save) is still reached
if it is near; mostly it is one that was read before (alike.py). Growth from round to round is followed for a while: it
may be a leak, and is noted.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
import traceback
from typing import Any

from vramfit.base import events, garbage, notes, process, ranks, recorder
from vramfit.base.stop import RunComplete
from vramfit.contract import asked
from vramfit.contract import notes as said
from vramfit.observe import loaders, training_loaders
from vramfit.observe.loaders import Pass
from vramfit.observe.phases import position
from vramfit.steer import alike, counting_on, coverage, gathering, left_out, overdue
from vramfit.steer.loose_loops import IdleCalls, LooseSteps
from vramfit.steer.peaks import has_grown, read_peaks
from vramfit.steer.running_on import Budget

_TRAIN_BATCHES = 4
_OTHER_BATCHES = 3
_MAX_BATCHES = 300  # of one pass that needs them to come to its optimizer steps
_STEPS_A_PASS = 2  # the first step allocates the optimizer's state, the second shows the steady peak
_MAX_ROUNDS = 30
_COAST_ROUNDS = 30
_COAST_SECONDS = 3.0
_LEAK_BYTES = 4 << 20  # what a pass would have to pile up by its end to be followed there


class Cutter:
    """What was seen so far, and whether it is enough."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Afresh, as the environment says now."""
        self.mode = os.environ.get("VRAMFIT_STEPS", "").strip() or asked.STEPS_AUTO
        self.batches = int(self.mode) if self.mode.isdigit() and int(self.mode) > 0 else None
        self.automatic = self.mode in (asked.STEPS_AUTO, asked.STEPS_QUICK)
        self.paused = 0  # inside a trainer that is cut by its own means
        self.trainer_ends = False  # it ends by itself once the budget to run on is used
        self.rounds = 0  # completed
        self.last_peaks: list[int] | None = None
        self.round_open = False
        self.evaluated_since_round = False
        self.coasting_since: float | None = None
        self.coasted = 0
        self.loose_steps = LooseSteps()
        self.idle_calls = IdleCalls()
        self.noted: set[tuple[str, int]] = set()
        self.whole_evaluation = os.environ.get("VRAMFIT_EVALUATION") == asked.EVALUATION_WHOLE
        self.levels: tuple[Pass | None, list[int]] = (None, [])  # allocated before each batch of a pass
        self.after_cut_evaluation = False  # an evaluation was cut, and no training came since
        self.budget = Budget()
        self.steps_taken = 0  # optimizer steps
        self.steps_in_full: int | None = None  # optimizer steps before the first cut after a budget
        self.count_in_full: int | None = None  # batches and steps before it
        self.last_round = False  # the budget of a run that does not coast is used: what was begun is ended

    # -- running on

    @property
    def in_full(self) -> bool:
        """Nothing is cut yet."""
        return self.automatic and self.budget.whole

    def spend(self) -> bool:
        """A batch or a step of the budget. True once: it is used, and from here on everything is cut."""
        if not self.automatic or not self.budget.is_wanted:
            return False
        self._watch_the_clock()
        if self.budget.is_over() and not self.budget.whole:
            self.stop(f"the time to run on ({self.budget.seconds:g} s) was used")
        if not self.budget.spend(recorder.total(recorder.PEAK_RESERVED)):
            return False
        self.steps_in_full, self.count_in_full = self.steps_taken, self.budget.count
        self._tell_budget_used()
        for this_pass in loaders.open_passes():
            this_pass.in_full = False
        for this_pass in [] if self.paused else loaders.open_passes():
            if not this_pass.endless and not this_pass.by_hand:
                this_pass.wanted = this_pass.delivered
        if self.mode == asked.STEPS_AUTO and ranks.count() == 1:
            self.coasting_since = time.monotonic()
        else:
            self.last_round = True
        return True

    def _tell_budget_used(self) -> None:
        budget = self.budget
        text = (
            f"everything was run for {budget.count} batches and steps ({budget.used_seconds():.1f} s); passes after "
            f"that got one batch"
        )
        notes.note(said.Cut(what="budget", text=text))

    def loose_forward(self) -> None:
        """A model is called outside of any pass: text is generated, a game played. It may be all there is."""
        if ranks.serves_another():
            return
        budget = self.budget
        if budget.is_wanted:
            budget.start()
            budget.progress()
            if budget.seconds and budget.used_seconds() > budget.seconds:
                self.stop(f"the time to run on ({budget.seconds:g} s) was used")
            return
        if why := self.idle_calls.take():
            self.stop(why)

    def _watch_the_clock(self) -> None:
        if self.automatic and self.budget.is_wanted and self.budget.seconds > 0:
            overdue.watch(self._is_overdue, lambda: self.stop(self._overdue()))

    def _is_overdue(self) -> bool:
        return self.budget.is_overdue() and not garbage.does_run_end_early()

    def _overdue(self) -> str:
        return f"the time to run on ({self.budget.seconds:g} s) was used within a step that had not come to its end"

    def progresses(self) -> None:
        """A batch came or a step was taken."""
        self.idle_calls.end()
        self.budget.progress()

    @property
    def may_count_on(self) -> bool:
        """Past the budget, in a run that has one, while there is time."""
        is_past = self.budget.is_wanted and not self.budget.whole and not self.budget.is_over()
        return is_past and self.mode == asked.STEPS_AUTO and ranks.count() == 1

    def _counts_on(self, kind: str, key: Any = None, this_pass: Pass | None = None) -> bool:
        """Past the budget: whether a loop was moved on to what it has not done yet, and goes on for that."""
        if self.paused or not self.may_count_on:
            return False
        length = loaders.length_of(this_pass.loader) if this_pass is not None else None
        now = counting_on.Now(kind, key, self.budget.count, self.steps_taken, recorder.allocated(), length)
        return counting_on.counting.goes_on(sys._getframe(1), now)

    # -- loader passes

    def before_pass(self, this_pass: Pass) -> None:
        this_pass.in_full = self.in_full and ranks.count() == 1
        if self.paused or self.in_full:
            return
        if self.automatic:
            if training_loaders.looks_like_one(this_pass):
                self.begin_round()
            this_pass.wanted = self._wanted(this_pass)
            if self.coasting_since is not None:
                this_pass.stand_in = alike.stand_in(this_pass)
            if self.whole_evaluation and not training_loaders.looks_like_one(this_pass):
                this_pass.repeat_to = loaders.length_of(this_pass.loader) or 0
        elif self.batches is not None:
            this_pass.wanted = self.batches
        self._tell_cut(this_pass)

    def _wanted(self, this_pass: Pass) -> int:
        # Past rounds that were left out, an evaluation may be of a kind that was not seen before.
        is_new = counting_on.counting.has_moved and not training_loaders.looks_like_one(this_pass)
        if self.coasting_since is not None and not is_new:
            return 1
        return _TRAIN_BATCHES if training_loaders.looks_like_one(this_pass) else _OTHER_BATCHES

    def before_batch(self, this_pass: Pass) -> None:
        """Raises what a pass wants, one batch ahead of its end, while it trains without having come to its steps."""
        self.progresses()
        if self.spend() and self.paused and not self.trainer_ends:
            self.stop("the budget to run on was used within a trainer that owns its loop")
        if not self.automatic or this_pass.wanted is None or self.paused:
            return
        if not this_pass.trained:
            self._follow_growth(this_pass)
        needs_more = this_pass.trained and this_pass.steps < _STEPS_A_PASS and position.optimizers > 0
        if self.coasting_since is not None:
            needs_more = needs_more and this_pass.steps == 0
        is_last = this_pass.delivered + 1 >= this_pass.wanted
        if is_last and this_pass.wanted < _MAX_BATCHES and (needs_more or self._has_more_to_count(this_pass)):
            this_pass.wanted += 1

    def _has_more_to_count(self, this_pass: Pass) -> bool:
        has_more = this_pass.delivered + 1 < (loaders.length_of(this_pass.loader) or 0)
        return has_more and self._counts_on("batch", this_pass=this_pass)

    def _follow_growth(self, this_pass: Pass) -> None:
        """Lets an evaluation go on past its cut while every batch leaves more memory behind."""
        if self.levels[0] is not this_pass:
            self.levels = (this_pass, [])
        levels = self.levels[1]
        levels.append(recorder.allocated())
        length = loaders.length_of(this_pass.loader)
        if self.whole_evaluation or length is None or len(levels) < _OTHER_BATCHES + 1:
            return
        left = length - this_pass.delivered
        growths = [after - before for before, after in zip(levels[-3:], levels[-2:])]
        if min(growths) * length >= _LEAK_BYTES:
            this_pass.repeat_to = min(length, this_pass.delivered + 1)
            if left > 0 and ("growth", this_pass.ordinal) not in self.noted:
                self.noted.add(("growth", this_pass.ordinal))
                text = (
                    f"memory grew with every batch of data loader {this_pass.ordinal + 1}: past the cut they "
                    f"were followed on, with one batch again and again"
                )
                notes.note(said.Cut(what="repeated", text=text))
                gathering.tell(this_pass, _OTHER_BATCHES, min(growths), length)

    def batch_read(self, this_pass: Pass, batch: Any) -> None:
        if (
            self.mode == asked.STEPS_AUTO and (not self.paused or self.in_full) and ranks.count() == 1
        ):  # else nothing coasts
            alike.learn(this_pass, batch)

    def after_pass(self, this_pass: Pass) -> None:
        if self.levels[0] is this_pass:
            self.levels = (None, [])  # a loader made anew takes the place of one that is gone
        length = loaders.length_of(this_pass.loader)
        if not this_pass.trained and self.automatic and length is not None and this_pass.delivered < length:
            self.after_cut_evaluation = True

    def _tell_cut(self, this_pass: Pass) -> None:
        of = loaders.length_of(this_pass.loader)
        if this_pass.wanted is None or (of is not None and of <= this_pass.wanted):
            return
        if ("loader", this_pass.ordinal) in self.noted:
            return
        if this_pass.repeat_to:
            self._tell_whole(this_pass, of)
            return
        self.noted.add(("loader", this_pass.ordinal))
        whole = f"of {of}" if of is not None else "(its length is not known)"
        text = f"each pass over data loader {this_pass.ordinal + 1} was cut to {this_pass.wanted} batches {whole}"
        notes.note(said.Cut(what="loader", text=text))

    def _tell_whole(self, this_pass: Pass, of: int | None) -> None:
        self.noted.add(("loader", this_pass.ordinal))
        text = (
            f"of each pass over data loader {this_pass.ordinal + 1} only {this_pass.wanted} batches of {of} were read; "
            f"the others repeat the last (the script failed when they were left out)"
        )
        notes.note(said.Cut(what="repeated", text=text))

    # -- rounds

    def begin_round(self) -> None:
        """Called at a safe point, before training goes on. Ends the run when the last round brought nothing new."""
        if self.in_full:
            return
        if self.last_round:
            self.stop("the budget to run on was used")
        if self.round_open:
            self._end_round()
        self.round_open = True
        self.evaluated_since_round = False
        recorder.reset_peaks()

    def _end_round(self) -> None:
        self.rounds += 1
        peaks = read_peaks()
        steady = self.last_peaks is not None and not has_grown(self.last_peaks, peaks)
        if ranks.count() > 1:  # ranks must agree without talking: the count of rounds is the same on all
            steady = self.rounds >= 2
        self.last_peaks = peaks if self.last_peaks is None else [max(a, b) for a, b in zip(self.last_peaks, peaks)]
        if self.coasting_since is not None:
            self.coasted += 1
            if self._counts_on("round"):
                return
            if self.coasted >= _COAST_ROUNDS or time.monotonic() - self.coasting_since > _COAST_SECONDS:
                self.stop(
                    f"memory had been steady since round {self.rounds - self.coasted}; "
                    f"what the script does after its training loop was not reached"
                )
        elif steady and (
            self.mode == asked.STEPS_QUICK or ranks.count() > 1
        ):  # coasting is timed, and ranks have no common clock
            self.stop(f"memory was steady after {self.rounds} rounds of training and evaluation")
        elif steady:
            self.coasting_since = time.monotonic()
            notes.note(
                said.Cut(
                    what="steps",
                    text=f"memory was steady after {self.rounds} rounds of training and evaluation; "
                    f"passes after that got one batch",
                )
            )
        elif self.rounds >= _MAX_ROUNDS:
            text = f"memory was still growing after {self.rounds} rounds: perhaps a leak"
            notes.note(said.Growth(text=text))
            self.stop(f"{self.rounds} rounds were run and memory was still growing")

    # -- loops without a loader

    def loose_step(self, optimizer: Any) -> None:
        """An optimizer step outside any loader pass."""
        if self.budget.is_wanted:
            if self.spend() or not self.budget.whole:
                if self._counts_on("step", id(optimizer)):
                    return
                self.stop(f"its loop was run for {self.count_in_full} batches and steps, the budget to run on")
            return
        if why := self.loose_steps.take():
            self.stop(why)

    def tell_run_on(self) -> None:
        """How far a run with a budget came, and where its peak was. Once, at its end."""
        budget = self.budget
        if self.automatic and budget.is_wanted and budget.count and ("run_on", 0) not in self.noted:
            self.noted.add(("run_on", 0))
            seconds = round(budget.used_seconds(), 3)
            notes.note(
                said.RunOn(
                    count=budget.count if self.count_in_full is None else self.count_in_full,
                    peak_at=budget.peak_at,
                    seconds=seconds,
                    steps_in_full=self.steps_in_full,
                )
            )

    def stop(self, why: str) -> None:
        notes.note(said.Cut(what="stopped", text=f"the run was ended early: {why}"))
        self.tell_run_on()
        left_out.tell(traceback.walk_stack(sys._getframe(1)))
        events.before_stop()
        coverage.tell(traceback.walk_stack(sys._getframe(1)))
        garbage.run_ends_early()
        raise RunComplete


cutter = process.own(Cutter)


def _on_backward(tensors: Any) -> None:
    cutter.after_cut_evaluation = False
    this_pass = loaders.innermost()
    if this_pass is not None:
        if not this_pass.trained and not cutter.round_open and not cutter.paused and cutter.automatic:
            cutter.begin_round()
        this_pass.trained = True
        training_loaders.add(this_pass)


def _on_forward(module: Any, result: Any) -> None:
    if cutter.automatic and loaders.innermost() is None:
        cutter.loose_forward()


def _on_step(optimizer: Any) -> None:
    cutter.progresses()
    cutter.steps_taken += 1
    if cutter.in_full:
        counting_on.counting.levels.add(recorder.allocated())
    this_pass = loaders.innermost()
    if this_pass is not None:
        this_pass.steps += 1
    # A script that holds a pass but draws no more from it trains on the same batch: nothing would ever end it.
    left = this_pass is None or this_pass.by_hand or this_pass.steps > 30 + 10 * this_pass.delivered
    if left and cutter.automatic and not cutter.paused:
        cutter.loose_step(optimizer)


def install(torch: Any) -> None:
    atexit.register(cutter.tell_run_on)
    left_out.install()
    loaders.before_pass.append(cutter.before_pass)
    loaders.before_batch.append(cutter.before_batch)
    loaders.after_pass.append(cutter.after_pass)
    loaders.batch_read.append(cutter.batch_read)
    loaders.instead.append(alike.instead)
    events.backward_begin.listen(_on_backward)
    events.training_step.listen(_on_step)
    events.root_exit.listen(_on_forward)
