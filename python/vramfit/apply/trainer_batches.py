"""Hugging Face's Trainer given smaller batches, of which it accumulates as many more: it has its own way to do so."""

from __future__ import annotations

from typing import Any, Protocol

from vramfit import apply
from vramfit.observe import loaders
from vramfit.private import transformers as of_trainer
from vramfit.private.names import nothing


class Technique(Protocol):
    size: int
    accumulate: int
    framework_accumulates: bool
    loaders: list[int]

    def refuse(self, text: str) -> None: ...


class TrainerBatches:
    def __init__(self, technique: Technique, id: str) -> None:
        self._technique, self._id = technique, id

    def hugging_face(self, module: Any) -> None:
        from vramfit.apply import trainer_divisor  # which needs torch

        technique, original = self._technique, module.Trainer.__init__

        def init(trainer: Any, *args: Any, **kwargs: Any) -> None:
            original(trainer, *args, **kwargs)
            settings = of_trainer.settings.of(trainer)
            if settings is None:
                technique.refuse("this release of transformers has a Trainer's arguments elsewhere")
                return
            before, whole = settings.per_device_train_batch_size, settings.train_batch_size
            samples = loaders.length_of(of_trainer.training_set.of(trainer))
            per_step = whole * max(1, int(getattr(settings, "world_size", 1)))
            if samples is not None and samples % (per_step * settings.gradient_accumulation_steps) != 0:
                technique.refuse(
                    f"{samples} samples are no whole number of batches of {per_step}: the Trainer would end each epoch "
                    f"with another step than now"
                )
            settings.per_device_train_batch_size = min(before, technique.size)
            settings.gradient_accumulation_steps *= technique.accumulate
            of_trainer.batch_size.put(trainer, settings.train_batch_size)
            of_trainer.prepare_again.of(trainer, nothing)()  # the Accelerator keeps its own count
            technique.framework_accumulates = True
            has_own_parts = settings.gradient_accumulation_steps > technique.accumulate
            trainer_divisor.divide_means(trainer, has_own_parts, technique.refuse)
            technique.loaders = []
            apply.applied(
                self._id,
                f"the Trainer was given batches of {technique.size} instead of {before} and accumulates "
                f"{settings.gradient_accumulation_steps}",
            )

        module.Trainer.__init__ = init
