"""Counting on where a trainer owns the loop: its epochs and steps are moved on, to the numbers that callbacks hold.

    class Unfreeze(TrainerCallback):
        def __init__(self): self.at_epoch = 10          # a number in the state of a callback
        def on_epoch_begin(self, args, state, control, **_):
            if state.epoch >= self.at_epoch: ...

What a callback tests can't be seen from outside, but the numbers it compares with are mostly its own.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

from vramfit.base import notes
from vramfit.contract import notes as said
from vramfit.private import lightning as of_lightning
from vramfit.private import transformers as of_trainer
from vramfit.steer.counting_on import stack, targets, tell_left_out
from vramfit.steer.counting_on.counters import RANGE, left_of, move_range, scope_at
from vramfit.steer.counting_on.scripts import source_of
from vramfit.steer.counting_on.targets import ROUNDS_EACH, spread

_MAX_MOVES = 24
_MAX_FRAMES = 60


class Course:
    """The values that one count of a trainer (its steps, its epochs) is still to be moved to."""

    def __init__(
        self, name: str, now: int, end: int | None, holders: Iterable[Any], tested: Iterable[int] = ()
    ) -> None:
        ahead = _ahead_of(now, end)
        found = {number for holder in holders for number in _numbers_of(holder) if number in ahead} | set(tested)
        if end is not None and len(ahead) > ROUNDS_EACH:
            found |= spread(ahead)
        self._name, self._from = name, now
        self._wanted = sorted(found)[:_MAX_MOVES]
        self._moved: list[int] = []
        self._rounds_left = 0

    def next(self, now: int) -> int | None:
        """Where the next round (a step, an epoch) is to be, asked at the end of one. None: nothing is left to see."""
        if self._rounds_left > 0:
            self._rounds_left -= 1
            return now + 1
        wanted = [value for value in self._wanted if value > now]
        if not wanted:
            return None
        self._wanted = wanted[1:]
        self._rounds_left = ROUNDS_EACH - 1
        self._moved.append(wanted[0])
        return wanted[0]

    def tell(self) -> None:
        if self._moved:
            values = ", ".join(f"{value:,}" for value in self._moved)
            text = f"the Trainer's {self._name} were counted on from {self._from:,} to {values}: the rest was left out"
            notes.note(said.Cut(what="counted", text=text))
            tell_left_out(f"the Trainer's {self._name}", self._from, self._moved[-1])
            self._moved = []


def _ahead_of(now: int, end: int | None) -> range:
    return range(now + 1, end if end is not None and end > now else 1 << 31)


def tested_in(module: Any, attribute: str, now: int, end: int | None) -> set[int]:
    """The counts of its trainer at which tests in a module's own file turn: `self.current_epoch == 25`."""
    found: set[int] = set()
    for method in vars(type(module)).values():
        code = getattr(method, "__code__", None)
        source = source_of(code) if code is not None else None
        scope = scope_at(source, code) if source is not None and code is not None else None
        if scope is None or code is None:
            continue
        names = {**method.__globals__, code.co_varnames[0]: module} if code.co_argcount else method.__globals__
        tests = targets.tests_in(scope)
        found |= targets.find(tests, names, _is_read_as(attribute), range(now, now + 1), _ahead_of(now, end)).turns
    return found


def _is_read_as(attribute: str) -> targets.IsCounter:
    return lambda node: isinstance(node, ast.Attribute) and node.attr == attribute


def _numbers_of(holder: Any) -> Iterable[int]:
    for value in list(getattr(holder, "__dict__", {}).values()):
        if type(value) is int or type(value) is float and value.is_integer():
            yield int(value)
        elif type(value) in (list, tuple):
            yield from (item for item in value if type(item) is int)


def _move_epochs(module: str, epoch: int) -> bool:
    """Lets the outermost range that a trainer's own module goes through give `epoch` next."""
    frame: FrameType | None = sys._getframe(1)
    outermost = None
    for _ in range(_MAX_FRAMES):
        if frame is None:
            break
        if frame.f_globals.get("__name__") == module:
            ranges = [loop.iterator for loop in stack.loops(frame) if type(loop.iterator) is RANGE]
            outermost = ranges[0] if ranges else outermost
        frame = frame.f_back
    return outermost is not None and epoch in left_of(outermost) and move_range(outermost, epoch)


class HuggingFaceCount:
    """What a callback does at the end of each step once the budget is used; False when nothing is left to be seen."""

    def __init__(self, args: Any, state: Any, callbacks: Iterable[Any]) -> None:
        own = [each for each in callbacks if not type(each).__module__.startswith(("transformers.", "vramfit."))]
        epochs = int(args.num_train_epochs) if args.max_steps <= 0 else None
        self._steps = Course("steps", state.global_step, state.max_steps, own)
        self._epochs = Course("epochs", int(state.epoch or 0), epochs, own)
        self._epochs_go_on = True
        self._steps_of_epoch = ROUNDS_EACH  # the one that runs was run in full

    def goes_on(self, state: Any, control: Any) -> bool:
        if self._epochs_go_on:
            self._steps_of_epoch += 1
            if self._steps_of_epoch < ROUNDS_EACH:
                return True
            if self._next_epoch(state):
                self._steps_of_epoch = 0
                control.should_epoch_stop = True
                return True
            self._epochs_go_on = False
        step = self._steps.next(state.global_step)
        if step is None:
            return False
        state.global_step = step - 1
        return True

    def _next_epoch(self, state: Any) -> bool:
        epoch = self._epochs.next(int(state.epoch or 0))
        return epoch is not None and _move_epochs(of_trainer.MODULE, epoch)

    def tell(self) -> None:
        self._epochs.tell()
        self._steps.tell()


class LightningCount:
    """The same for Lightning's epochs."""

    def __init__(self, trainer: Any, module: Any) -> None:
        most = of_lightning.most_epochs.of(trainer) or -1
        end = most if most > 0 else None
        callbacks = of_lightning.callbacks.of(trainer, [])
        own = [each for each in callbacks if not type(each).__module__.startswith("vramfit.")]
        tested = tested_in(module, "current_epoch", trainer.current_epoch, end)
        self._epochs = Course("epochs", trainer.current_epoch, end, [*own, module], tested)

    def goes_on(self, trainer: Any) -> bool:
        """Whether it goes on, asked at the last batch of an epoch."""
        epochs = of_lightning.epoch_progress.of(of_lightning.loop.of(trainer))
        progress, counts = of_lightning.counts_now.of(epochs), of_lightning.COUNTS
        if not all(count.is_in(progress) for count in counts.values()):
            return False
        epoch = self._epochs.next(counts["processed"].of(progress))
        if epoch is None:
            self._epochs.tell()
            return False
        for name, count in counts.items():  # the last two are counted up when this epoch ends
            count.put(progress, epoch if name in ("ready", "started") else epoch - 1)
        return True

    def tell(self) -> None:
        self._epochs.tell()
