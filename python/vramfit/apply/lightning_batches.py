"""Lightning given a loader's batches in parts: what it counts in batches stays in the script's.

    Trainer(limit_train_batches=20, val_check_interval=10, accumulate_grad_batches=2)     the script's
    each batch in 4 parts:        80                    40                         8      what Lightning then counts

Fractions are taken of whole batches, a learning rate that follows every n-th batch is given four times that n, and
training_step(batch, batch_idx) is told the number of the whole batch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from vramfit.apply.split_loaders import SplitLoaders
from vramfit.base import importing, notes
from vramfit.private import lightning as of_lightning
from vramfit.private import torch as of_torch

_OF_BATCHES = ("on_train_batch_start", "on_train_batch_end")
_ASKED_WITH = 3  # what a fraction of the batches is worked out from: the stage, their number, the limit
_LIBRARIES = ("lightning.", "pytorch_lightning.", "vramfit.")


class Splitter(Protocol):
    accumulate: int
    framework_accumulates: bool
    split_loaders: SplitLoaders

    def refuse(self, text: str) -> None: ...
    def name_effect(self, text: str) -> None: ...


class LightningBatches:
    def __init__(self, technique: Splitter) -> None:
        self._technique = technique

    def install(self) -> None:
        for name in of_lightning.PACKAGES:
            importing.after_import(f"{name}.trainer.trainer", self._trainer)
            importing.after_import(f"{name}.loops.fit_loop", self._fit_loop)
            importing.after_import(f"{name}.loops.training_epoch_loop", self._epoch_loop)

    def _trainer(self, module: Any) -> None:
        technique, original = self._technique, module.Trainer.__init__

        @functools.wraps(original)
        def init(trainer: Any, *args: Any, **kwargs: Any) -> None:
            original(trainer, *args, **kwargs)
            accumulation = of_lightning.accumulation
            if not accumulation.is_in(trainer):
                technique.refuse("this release of Lightning has the steps that it accumulates elsewhere")
                return
            accumulation.put(trainer, int(accumulation.of(trainer) or 1) * technique.accumulate)
            for setting in (of_lightning.LIMITS["train"], of_lightning.validation_interval):
                if type(setting.of(trainer)) is int:  # a number of batches; a fraction is a float
                    setting.put(trainer, setting.of(trainer) * technique.accumulate)
            technique.framework_accumulates = True

        module.Trainer.__init__ = init

    def _fit_loop(self, module: Any) -> None:
        """Lightning counts the batches of an epoch before it draws the first."""
        from torch.utils.data import DataLoader

        technique = self._technique

        def request(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            given = original(*args, **kwargs)
            for loader in of_torch.flatten_tree(given)[0]:
                if isinstance(loader, DataLoader) and technique.framework_accumulates:
                    technique.split_loaders.split_for_trainer(loader)
            return given

        def parse(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            """A fraction of the script's batches: 0.3 of ten are three, and twelve parts of forty."""
            if kwargs or len(args) != _ASKED_WITH:
                notes.hook_failed("lightning_batches.parse", TypeError(f"asked with {len(args)} and {list(kwargs)}"))
                return original(*args, **kwargs)
            (stage, length, limit), parts = args, technique.accumulate
            is_split = type(limit) is float and 0.0 < limit < 1.0 and length % parts == 0
            return original(stage, length // parts, limit) * parts if is_split else original(stage, length, limit)

        def set_up(original: Callable[..., Any], loop: Any, *args: Any, **kwargs: Any) -> Any:
            done = original(loop, *args, **kwargs)
            trainer = of_lightning.trainer.of(loop)
            _validate_by_whole_batches(trainer, of_lightning.batches_of_epoch.of(loop), technique.accumulate)
            self._look_at(trainer)
            return done

        _around(module, of_lightning.request_loader, request)
        _around(module, of_lightning.parse_batches, parse)
        _around(of_lightning.fit_loop.of(module), of_lightning.set_up_data, set_up)

    def _epoch_loop(self, module: Any) -> None:
        parts, frequency = self._technique.accumulate, of_lightning.frequency

        def update(original: Callable[..., Any], loop: Any, *args: Any, **kwargs: Any) -> Any:
            configs = _of_each_step(of_lightning.trainer.of(loop))
            for one in configs:
                frequency.put(one, frequency.of(one) * parts)
            try:
                return original(loop, *args, **kwargs)
            finally:
                for one in configs:
                    frequency.put(one, frequency.of(one) // parts)

        def build(original: Callable[..., Any], loop: Any, *args: Any, **kwargs: Any) -> Any:
            given = original(loop, *args, **kwargs)
            if isinstance(given, dict) and "batch_idx" in given:
                given["batch_idx"] //= parts
            return given

        _around(of_lightning.epoch_loop.of(module), of_lightning.update_rates, update)
        _around(of_lightning.epoch_loop.of(module), of_lightning.build_arguments, build)

    def _look_at(self, trainer: Any) -> None:
        """Looks for what would see the parts of a batch."""
        if any(of_lightning.follows_a_loss.of(one) for one in _of_each_step(trainer)):
            self._technique.refuse(
                "ReduceLROnPlateau is asked after each batch, and would see the loss of a part of it"
            )
        callbacks = of_lightning.callbacks.of(trainer, [])
        own = [*(one for one in callbacks if _is_own(type(one))), of_lightning.network.of(trainer)]
        for one in own:
            hooks = [name for name in _OF_BATCHES if _is_own(_class_with(type(one), name))]
            if hooks:
                where = f"{type(one).__name__}.{' and '.join(hooks)}"
                self._technique.name_effect(f"{where}: called for each part of a batch, so {_times(trainer)} as often")


def _times(trainer: Any) -> str:
    return f"{of_lightning.accumulation.of(trainer)} times"


@notes.guarded("lightning_batches.validation")
def _validate_by_whole_batches(trainer: Any, batches: Any, parts: int) -> None:
    interval, number = of_lightning.validation_interval.of(trainer), of_lightning.validation_batch
    is_fraction = type(interval) is float and interval < 1.0
    if is_fraction and batches and batches != float("inf") and number.is_in(trainer):
        number.put(trainer, max(1, int(batches // parts * interval)) * parts)


def _of_each_step(trainer: Any) -> list[Any]:
    """The trainer's schedulers that are asked after every so many steps."""
    configs = of_lightning.schedulers.of(trainer) or []
    return [one for one in configs if of_lightning.interval.of(one) == "step" and of_lightning.frequency.is_in(one)]


def _is_own(kind: type | None) -> bool:
    return kind is not None and not f"{kind.__module__}.".startswith(_LIBRARIES)


def _class_with(kind: type, method: str) -> type | None:
    return next((each for each in kind.__mro__ if method in vars(each)), None)


def _around(owner: Any, name: Any, call: Callable[..., Any]) -> None:
    original = name.of(owner)  # None where a release has it no more, which is told
    if original is None:
        return

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return call(original, *args, **kwargs)

    name.put(owner, wrapped)
