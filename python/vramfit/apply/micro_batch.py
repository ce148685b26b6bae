"""Smaller batches from the loaders, and an optimizer step only every `accumulate` of them.

With the loss scaled by 1 / accumulate the gradients equal those of the whole batch when the loss is a mean over samples
and no layer mixes samples (batch norm does: its statistics are of the micro-batch).

    script:      zero  f b step  zero  f b step  zero  f b step  zero  f b step       accumulate = 4
    what acts:   zero  f b             f b             f b             f b step
"""

from __future__ import annotations

import os
import weakref
from typing import Any

from vramfit import apply, importing, loaders
from vramfit.apply import training_loop
from vramfit.loaders import Pass

ID = "micro_batch"


class MicroBatch:
    def __init__(self, options: dict[str, Any]) -> None:
        self.size = int(options["micro_batch"])
        self.accumulate = max(1, int(options.get("accumulate", 1)))
        self.loaders = [int(ordinal) for ordinal in options.get("loaders", [0])]
        self.calls: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self.framework_accumulates = False

    # -- batches

    def before_pass(self, this_pass: Pass) -> None:
        if this_pass.ordinal not in self.loaders:
            return
        loader = this_pass.loader
        sampler = getattr(loader, "batch_sampler", None)
        size = getattr(loader, "batch_size", None)
        if size is None or sampler is None or "batch_size" not in vars(sampler):
            apply.refused(ID, f"data loader {this_pass.ordinal + 1} makes its batches in a way of its own")
        elif size > self.size:
            sampler.batch_size = self.size
            object.__setattr__(
                loader, "batch_size", self.size
            )  # DataLoader forbids it: it can't know its sampler changed
            apply.applied(ID, f"batches of {self.size} instead of {size}, one optimizer step every {self.accumulate}")

    # -- steps

    def _factor(self) -> int:
        return 1 if self.framework_accumulates else self.accumulate

    def scale_loss(self, loss: Any) -> Any:
        return loss if self._factor() == 1 or not loss.requires_grad else loss / self._factor()

    def is_due(self, optimizer: Any, peek: bool) -> bool:
        if optimizer is None:
            counts = list(self.calls.values())
            return (counts[0] + 1 if counts else 1) % self._factor() == 0
        count = self.calls.get(optimizer, 0) + 1
        if not peek:
            self.calls[optimizer] = count
        return count % self._factor() == 0

    def keeps_gradients(self, optimizer: Any) -> bool:
        counts = self.calls.values() if optimizer is None else [self.calls.get(optimizer, 0)]
        return any(count % self._factor() for count in counts)

    # -- trainers that can do it themselves

    def hugging_face(self, module: Any) -> None:
        trainer = module.Trainer
        original = trainer.__init__

        def init(trainer_self: Any, *args: Any, **kwargs: Any) -> None:
            original(trainer_self, *args, **kwargs)
            settings = trainer_self.args
            before = settings.per_device_train_batch_size
            settings.per_device_train_batch_size = min(before, self.size)
            settings.gradient_accumulation_steps *= self.accumulate
            trainer_self._train_batch_size = settings.train_batch_size
            if hasattr(trainer_self, "create_accelerator_and_postprocess"):
                trainer_self.create_accelerator_and_postprocess()  # the Accelerator keeps its own count
            self.framework_accumulates = True
            self.loaders = []
            apply.applied(
                ID,
                f"the Trainer was given batches of {self.size} instead of {before} and accumulates "
                f"{settings.gradient_accumulation_steps}",
            )

        trainer.__init__ = init

    def lightning(self, module: Any) -> None:
        original = module.Trainer.__init__

        def init(trainer: Any, *args: Any, **kwargs: Any) -> None:
            original(trainer, *args, **kwargs)
            trainer.accumulate_grad_batches = int(trainer.accumulate_grad_batches or 1) * self.accumulate
            self.framework_accumulates = True

        module.Trainer.__init__ = init


def install(torch: Any, options: dict[str, Any]) -> None:
    technique = MicroBatch(options)
    os.register_at_fork(after_in_child=technique.calls.clear)
    loaders.before_pass.insert(0, technique.before_pass)  # before the cutter asks how long the pass is
    if technique.accumulate > 1:
        training_loop.install(torch)
        training_loop.loss_filters.append(technique.scale_loss)
        training_loop.step_is_due.append(technique.is_due)
        training_loop.keeps_gradients.append(technique.keeps_gradients)
    importing.after_import("transformers.trainer", technique.hugging_face)
    importing.after_import("pytorch_lightning.trainer.trainer", technique.lightning)
    importing.after_import("lightning.pytorch.trainer.trainer", technique.lightning)
