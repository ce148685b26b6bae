"""Trainers that own the loop: Hugging Face's and Lightning's.

They are cut by their own means, since they count steps from the length of the data and evaluate when they say so.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

from vramfit.base import importing, notes, process
from vramfit.base.around import around
from vramfit.contract import notes as said
from vramfit.observe import phases
from vramfit.private import lightning as of_lightning
from vramfit.private import transformers as of_trainer
from vramfit.steer.counting_on.of_trainers import HuggingFaceCount, LightningCount
from vramfit.steer.cut import cutter

_STEPS = 4  # optimizer steps of a Hugging Face training
_BATCHES = 4  # of a Lightning epoch, per accumulated step
_EVAL_BATCHES = 3
_EPOCHS = 2


@contextmanager
def _cut_elsewhere() -> Iterator[None]:
    cutter.paused += 1
    try:
        yield
    finally:
        cutter.paused -= 1


@contextmanager
def _ended_by_callback() -> Iterator[None]:
    before, cutter.trainer_ends = cutter.trainer_ends, True
    try:
        with _cut_elsewhere():
            yield
    finally:
        cutter.trainer_ends = before


def _hugging_face(module: ModuleType) -> None:
    from transformers import TrainerCallback

    class StopSoon(TrainerCallback):
        """Ends training after a few steps, with the evaluation and the save that the user asked for."""

        def __init__(self, callbacks: list[Any]) -> None:
            self.callbacks = callbacks  # all of the trainer's
            self.begun_at = 0  # the step that a training was resumed at
            self.taken = 0  # steps, before any was counted on
            self.count: HuggingFaceCount | None = None

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.begun_at, self.count = state.global_step, None

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
            taken = state.global_step - self.begun_at
            if cutter.automatic and not cutter.in_full and taken >= _STEPS:
                if self.__counts_on(args, state, control):
                    return control
                taken = self.taken or taken
                if state.global_step < state.max_steps:
                    notes.note(
                        said.Cut(
                            what="steps",
                            text=f"the Trainer was ended after {taken} of {state.max_steps - self.begun_at} steps"
                            + (f" (it was resumed at step {self.begun_at})" if self.begun_at else ""),
                        )
                    )
                strategy = getattr(args, "eval_strategy", None) or getattr(args, "evaluation_strategy", "no")
                control.should_training_stop = True
                control.should_evaluate = control.should_evaluate or _value(strategy) != "no"
                control.should_save = control.should_save or _value(args.save_strategy) != "no"
            return control

        def __counts_on(self, args: Any, state: Any, control: Any) -> bool:
            if not cutter.may_count_on:
                return False
            if self.count is None:
                self.taken = state.global_step - self.begun_at
                self.count = HuggingFaceCount(args, state, self.callbacks)
            return self.count.goes_on(state, control)

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if self.count is not None:
                self.count.tell()

    trainer = module.Trainer

    def init(self: Any, *_: Any, **__: Any) -> Iterator[Any]:
        yield
        self.add_callback(StopSoon(of_trainer.callbacks.of(of_trainer.callbacks_held.of(self), [])))

    trainer.__init__ = around("trainers.hugging_face", trainer.__init__, init)
    _wrap(trainer, of_trainer.training_loop.name, _ended_by_callback)
    for name in ("evaluation_loop", "prediction_loop"):
        _wrap(trainer, name, _evaluating)
    for name in ("save_model", of_trainer.save_checkpoint.name):
        if hasattr(trainer, name):
            setattr(trainer, name, phases.saving(getattr(trainer, name)))


def _value(strategy: Any) -> str:
    return str(getattr(strategy, "value", strategy))


@contextmanager
def _evaluating() -> Iterator[None]:
    """An evaluation inside a training loop: its loader is cut like any other."""
    before, cutter.paused = cutter.paused, 0
    try:
        yield
    finally:
        cutter.paused = before


def _wrap(owner: Any, name: str, context: Callable[[], Any]) -> None:
    original = getattr(owner, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        with context():
            return original(*args, **kwargs)

    setattr(owner, name, call)


def _lightning_callback(module: ModuleType) -> type:
    base = importlib.import_module(module.__name__.rsplit(".", 2)[0] + ".callbacks").Callback

    class CountOn(base):  # type: ignore[misc, valid-type]
        """Past the budget: ends each epoch after a few batches, and moves on to later ones."""

        def __init__(self) -> None:
            self.count: LightningCount | None = None
            self.batches = 0  # of this epoch, past the budget

        def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
            self.batches = 0

        def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
            if not cutter.automatic or cutter.in_full:
                return
            self.batches += 1
            if self.count is not None and self.batches < 2 * _parts_of(trainer):
                return
            try:
                self.__end_epoch(trainer, pl_module)
            except Exception as error:
                notes.hook_failed("trainers.lightning", error)
                trainer.should_stop = True

        def __end_epoch(self, trainer: Any, pl_module: Any) -> None:
            if self.count is None:
                self.count = LightningCount(trainer, pl_module)
            loop = of_lightning.loop_of_epoch.of(of_lightning.loop.of(trainer))
            progress = of_lightning.batch_progress.of(loop)
            if of_lightning.is_last_batch.is_in(progress):
                of_lightning.is_last_batch.put(progress, True)
            if not cutter.may_count_on or not self.count.goes_on(trainer):
                self.count.tell()
                trainer.should_stop = True

        def __reduce__(self) -> tuple[Any, ...]:
            """A trainer goes to the processes that it spawns as a pickle; each has hooks, and a class, of its own."""
            return _count_on, (module.__name__,)

    return CountOn


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.callbacks: dict[str, type] = {}  # by the module of the trainer: lightning's, pytorch_lightning's


_state = process.own(_State)


def _count_on(trainers_module: str) -> Any:
    importlib.import_module(trainers_module)
    return _state.callbacks[trainers_module]()


def _lightning(module: ModuleType) -> None:
    trainer = module.Trainer
    count_on = _state.callbacks[module.__name__] = _lightning_callback(module)

    def wrap(name: str) -> None:
        original = getattr(trainer, name)

        @functools.wraps(original)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            _limit(self)
            callbacks = of_lightning.callbacks.of(self)
            if name != "fit" or not cutter.in_full or not isinstance(callbacks, list):
                with _cut_elsewhere():
                    return original(self, *args, **kwargs)
            counts = count_on()
            callbacks.append(counts)
            try:
                with _ended_by_callback():
                    return original(self, *args, **kwargs)
            finally:
                _remove(counts, of_lightning.callbacks.of(self, callbacks))

        setattr(trainer, name, call)

    for name in ("fit", "validate", "test", "predict"):
        wrap(name)
    if hasattr(trainer, "save_checkpoint"):
        trainer.save_checkpoint = phases.saving(trainer.save_checkpoint)


def _remove(callback: Any, callbacks: Any) -> None:
    with suppress(ValueError):  # who put others in their place left ours out
        callbacks.remove(callback)


def _parts_of(trainer: Any) -> int:
    """Batches to an optimizer step."""
    return int(of_lightning.accumulation.of(trainer) or 1)


@notes.guarded("trainers.lightning")
def _limit(trainer: Any) -> None:
    """Sets what this release has of a trainer's limits; what it has elsewhere is told, and stays as it was."""
    if not cutter.automatic or cutter.in_full:
        return
    batches = _BATCHES * _parts_of(trainer)
    is_short = _lower(trainer, "train", batches)
    passes = f"epochs to {batches} batches" if is_short else ""
    limited = [passes, _limit_epochs(of_lightning.loop.of(trainer)), _limit_evaluations(trainer, batches)]
    text = ", its ".join(each for each in limited if each).replace(" to ", " were cut to ", 1)
    if text:
        notes.note(said.Cut(what="loader", text=f"Lightning's {text}"))


def _limit_epochs(loop: Any) -> str:
    setting = of_lightning.epochs_to_run
    if not setting.is_in(loop):
        return ""
    epochs = setting.of(loop)
    if epochs is None or epochs < 0 or epochs > _EPOCHS:
        setting.put(loop, _EPOCHS)
    return f"training to {setting.of(loop)} epochs"


def _limit_evaluations(trainer: Any, batches: int) -> str:
    interval, epochs = of_lightning.validation_interval, of_lightning.validation_epochs
    own = interval.of(trainer)
    if isinstance(own, int) and own > batches:
        interval.put(trainer, 1.0)
    if (epochs.of(trainer) or 1) > 1:
        epochs.put(trainer, 1)
    lowered = [_lower(trainer, part, _EVAL_BATCHES) for part in ("val", "test", "predict")]
    return f"evaluations to {_EVAL_BATCHES} batches" if any(lowered) else ""


def _lower(trainer: Any, part: str, count: int) -> bool:
    limit = of_lightning.LIMITS[part]
    if limit.is_in(trainer):
        limit.put(trainer, _smaller(limit.of(trainer), count))
        return True
    return False


def _smaller(own: Any, count: int) -> Any:
    """A trainer's limit is a number of batches, a fraction, or 1.0 for all. 0 stays 0: switched off."""
    if own in (0, 0.0):
        return own
    return min(own, count) if isinstance(own, int) else count


def install() -> None:
    importing.after_import(of_trainer.MODULE, _hugging_face)
    for module in of_lightning.MODULES:
        importing.after_import(module, _lightning)
