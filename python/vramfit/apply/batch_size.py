"""Batches of another size, smaller or larger: each optimizer step learns from that many samples.

Samples keep their order: the batches that a loader would draw are put one behind the other and cut anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vramfit import apply
from vramfit.base import importing, process
from vramfit.contract import plans
from vramfit.observe import loaders
from vramfit.observe.loaders import Pass
from vramfit.private import loaders as of_loaders
from vramfit.private import transformers as of_trainer

ID = "batch_size"


class RegroupedSampler:
    """Around a batch sampler."""

    def __init__(self, own: Any, size: int) -> None:
        self._own = own
        self._size = size
        self._drops_last = bool(getattr(own, "drop_last", False))

    def __iter__(self) -> Iterator[list[Any]]:
        batch: list[Any] = []
        for index in self._samples():
            batch.append(index)
            if len(batch) == self._size:
                yield batch
                batch = []
        if batch and not self._drops_last:
            yield batch

    def _samples(self) -> Iterator[Any]:
        """Those of an incomplete last batch too, which torch's own batch sampler may leave out."""
        sampler = getattr(self._own, "sampler", None)
        if sampler is not None:
            yield from sampler
        else:
            for batch in self._own:
                yield from batch

    def __len__(self) -> int:
        size, sampler = getattr(self._own, "batch_size", None), getattr(self._own, "sampler", None)
        samples = len(sampler) if sampler is not None else len(self._own) * (size or 1)
        return samples // self._size if self._drops_last else -(-samples // self._size)

    def __getattr__(self, name: str) -> Any:
        if name == "_own":
            raise AttributeError(name)
        return getattr(self._own, name)


class BatchSize:
    KEEPS = process.ALL

    def __init__(self, options: plans.BatchSize) -> None:
        self.size = options.batch_size
        self.loaders = options.loaders

    def before_pass(self, this_pass: Pass) -> None:
        if this_pass.ordinal not in self.loaders:
            return
        loader, size = this_pass.loader, self.size
        sampler = getattr(loader, "batch_sampler", None)
        if sampler is None or of_loaders.is_stream(loader):
            apply.refused(ID, f"data loader {this_pass.ordinal + 1} makes its batches in a way of its own")
            return
        if "_vramfit_regrouped" not in loader.__dict__:
            samples = loaders.length_of(getattr(sampler, "sampler", None))
            if samples is not None and samples < size:
                apply.refused(ID, f"data loader {this_pass.ordinal + 1} has {samples} samples, fewer than a batch")
                return
            loader.__dict__["_vramfit_regrouped"] = RegroupedSampler(sampler, size)
        was = getattr(sampler, "batch_size", None)
        apply.applied(ID, f"batches of {size} instead of {'what they were' if was is None else was}")

    def hugging_face(self, module: Any) -> None:
        original = module.Trainer.__init__

        def init(trainer: Any, *args: Any, **kwargs: Any) -> None:
            original(trainer, *args, **kwargs)
            settings = of_trainer.settings.of(trainer)
            if settings is None:
                apply.refused(ID, "this release of transformers has a Trainer's arguments elsewhere")
                return
            was = settings.per_device_train_batch_size
            settings.per_device_train_batch_size = self.size
            of_trainer.batch_size.put(trainer, settings.train_batch_size)
            self.loaders = []  # its loader is made with the size
            apply.applied(ID, f"the Trainer was given batches of {self.size} instead of {was}")

        module.Trainer.__init__ = init


def install(torch: Any, options: plans.BatchSize) -> None:
    technique = process.own(BatchSize, options)
    loaders.before_pass.insert(0, technique.before_pass)  # before the cutter asks how long the pass is
    importing.after_import(of_trainer.MODULE, technique.hugging_face)
