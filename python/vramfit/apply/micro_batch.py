"""The batches of a loader in parts, and one optimizer step for the parts of each: the step of the whole batch.

    script:      zero  f b step  zero  f b step  zero  f b step       a batch of 20, micro-batches of 8
    samples:           8               8               4
    weight:            8/20            8/20            4/20
    what acts:   zero  f b             f b             f b step

The gradients equal those of the whole batch when the loss is a mean over samples and no layer or loss mixes samples.
A mean over labels of which some are left out is weighted by labels (label_weights.py). What is known not to be equal is
refused as soon as it is seen, which is before the first optimizer step unless the script trains in another way later.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from typing import Any

from vramfit import apply
from vramfit.apply import between_steps, drivers, training_loop
from vramfit.apply.accelerate_batches import AccelerateBatches
from vramfit.apply.divisor_weights import DivisorWeights
from vramfit.apply.label_weights import LabelWeights
from vramfit.apply.lightning_batches import LightningBatches
from vramfit.apply.module_counters import ModuleCounters
from vramfit.apply.object_counters import ObjectCounters
from vramfit.apply.own_counters import OwnCounters
from vramfit.apply.split_sampler import Share, SplitSampler
from vramfit.apply.trainer_batches import TrainerBatches
from vramfit.base import events, frames, garbage, importing, notes, process
from vramfit.base.recorder import TRAIN
from vramfit.contract import notes as said
from vramfit.observe import batch_norms, loaders, scopes
from vramfit.observe.loaders import Pass
from vramfit.observe.phases import position
from vramfit.private import loaders as of_loaders
from vramfit.private import torch as of_torch
from vramfit.private import transformers as of_trainer
from vramfit.steer.cut import cutter

ID = "micro_batch"


class MicroBatch:
    """training_loop.Window. `share` is that of the batch which the script works on; None outside its training pass."""

    KEEPS = process.ALL  # but for what in_child() begins anew

    def __init__(self, torch: Any, options: dict[str, Any]) -> None:
        self._torch = torch
        self.size = int(options["micro_batch"])
        self.accumulate = max(1, int(options.get("accumulate", 1)))
        self.loaders = [int(ordinal) for ordinal in options.get("loaders", [0])]
        self.framework_accumulates = False
        self.labels = LabelWeights(torch)
        self.divisors = DivisorWeights(torch, self.stop)
        self.accelerate = AccelerateBatches(self, self._is_open)
        self._counters = OwnCounters(self.refuse, self._is_model, self.accelerate.counts_batches)
        self._module_counters = ModuleCounters(torch, self.stop, self.name_effect)
        self._object_counters = ObjectCounters(torch, self.stop)
        self._named = False
        self._has_optimizer = self._has_stepped = False
        self._has_parts = self._has_trained = False  # given so far, of any pass; and a model was called to be trained
        self._pid = os.getpid()
        self.begin()

    def in_child(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.share: Share | None = None
        self._unasked = 0  # batches since the last step that was asked for: the script accumulates
        self._writes: dict[int, int] = {}  # to each parameter, while it does
        # In this micro-batch:
        self._trains = False  # a model was called to be trained
        self._backwards = 0  # begun
        self._is_put_off = False  # accelerate's accumulate() asks for no step after it
        self._asked: list[int] = []  # ids of optimizers whose step() was called
        self._stepped: list[int] = []  # and whose step is over, taken or put off
        self._gradients: dict[int, tuple[int, int]] = {}  # of each parameter, after the last backward pass
        self._waiting: set[int] = set()  # ids of passes whose last micro-batch nothing was trained on yet
        self._is_ahead = False  # another one was drawn meanwhile, of the same batch
        self._driven: Pass | None = None  # who draws its batches was looked at

    def refuse(self, text: str) -> None:
        apply.refused(ID, text)

    def stop(self, text: str) -> None:
        """A refusal of what would train something else from here on, however late it is seen."""
        apply.ended(ID, text)

    def name_effect(self, text: str, what: said.EffectKind = "other") -> None:
        notes.note(said.PlanEffect(id=ID, text=text, what=what))

    # -- batches

    def before_pass(self, this_pass: Pass) -> None:
        if this_pass.ordinal not in self.loaders:
            return
        loader = this_pass.loader
        sampler = loader.__dict__.get("_vramfit_few") or getattr(loader, "batch_sampler", None)
        if sampler is None or of_loaders.is_stream(loader):
            self.refuse(f"data loader {this_pass.ordinal + 1} makes its batches in a way of its own")
            return
        size = getattr(sampler, "batch_size", None)
        if size is not None and size <= self.size:
            return
        if self.framework_accumulates and "_vramfit_split" not in loader.__dict__:
            self.refuse("the trainer made another loader of the one it was given")
            return
        split = self._split(loader, sampler)
        split.this_pass = this_pass
        self.share = None
        if size is not None:
            cutter.budget.weight = self.size / size  # a budget counts the script's batches
        was = "what they were" if size is None else str(size)
        text = f"batches of {self.size} instead of {was}, one optimizer step for the parts of each"
        if not self.framework_accumulates:
            text += "; the loop's body runs for each part: what it prints or adds up (a running loss) has as many terms"
        apply.applied(ID, text)

    def _split(self, loader: Any, sampler: Any) -> SplitSampler:
        return loader.__dict__.setdefault(
            "_vramfit_split", SplitSampler(sampler, self.size, not self.framework_accumulates, self)
        )

    def split_for_trainer(self, loader: Any) -> None:
        """Before the trainer asks how many batches there are. It gives each of them the same weight."""
        sampler = loader.__dict__.get("_vramfit_few") or getattr(loader, "batch_sampler", None)
        size = getattr(sampler, "batch_size", None)
        if sampler is None or (size is not None and size <= self.size):
            return
        if self._has_uneven_batch(loader, size):
            self.refuse("each epoch ends with a smaller batch, which the trainer would give the weight of a whole one")
        self._split(loader, sampler)

    @staticmethod
    def _has_uneven_batch(loader: Any, size: int | None) -> bool:
        samples = loaders.length_of(getattr(loader, "sampler", None))
        return size is None or samples is None or samples % size != 0

    def on_batch(self, this_pass: Pass, batch: Any) -> None:
        split = this_pass.loader.__dict__.get("_vramfit_split")
        if split is None or split.owner is not self or self.framework_accumulates:
            return
        # A batch that is given again (cut.py) was not drawn.
        turn = (this_pass.delivered - 1) % self.accumulate
        repeated = Share(self.size, self.size * self.accumulate, turn == 0, turn == self.accumulate - 1)
        share = split.shares.popleft() if split.shares else repeated
        this_pass.delivered_whole = share.is_last
        self.batch_fetched(this_pass, share)

    def batch_fetched(self, this_pass: Pass, share: Share) -> None:
        if not self.accelerate.takes(this_pass, share, drivers.driver_of(sys._getframe(1))):
            self.begin_part(this_pass, share)

    def begin_part(self, this_pass: Pass, share: Share) -> None:
        """The script gets it. Who draws, and what was done with the one before?"""
        if self._driven is not this_pass:
            self._driven = this_pass
            self._look_at_driver(this_pass)
        self._look_at_last(this_pass)
        self.share = share
        self._has_parts = True
        if self.accumulate > 1:
            self._counters.number(sys._getframe(1), share)
            self._object_counters.begin_part(sys._getframe(1), share)
        self._look_whether_ahead(this_pass, share)
        self._trains = self._is_put_off = False
        self._backwards = 0
        self._asked.clear()
        self._stepped.clear()
        self._module_counters.begin_part()
        if share.is_first:
            self._gradients.clear()
            self.labels.begin()
            self.divisors.begin()

    def _look_whether_ahead(self, this_pass: Pass, share: Share) -> None:
        """Where one micro-batch is drawn before the last is trained on (timm's PrefetchLoader), its share is not the
        one that is trained."""
        if share.is_first or this_pass.delivered == 1:
            self._waiting.discard(id(this_pass))
            self._is_ahead = False
        self._is_ahead = self._is_ahead or id(this_pass) in self._waiting
        self._waiting.add(id(this_pass))

    def _look_at_driver(self, this_pass: Pass) -> None:
        frame = drivers.driver_of(sys._getframe(1))
        self._counters.begin(frame)
        if reason := drivers.why_not_in_parts(frame):
            self.refuse(reason)

    def _look_at_last(self, this_pass: Pass) -> None:
        """What the script did with the micro-batch before this one."""
        if self.share is None or not self._trains:
            return
        if not self._backwards:
            self.refuse("the script trains without backward(): gradients that torch.autograd.grad returns are its own")
        elif not self._asked and not self._is_put_off:
            self._look_at_accumulation()
        passes = loaders.open_passes()
        others = [p for p in passes if p.ordinal not in self.loaders and p.trained and p.iterator is not None]
        if any(p.iterator() is not None for p in others if p.iterator is not None):
            self.refuse("the script trains on batches of two loaders at once")

    def _look_at_accumulation(self) -> None:
        """No step was asked for after a part: it may be after another batch (`if (i + 1) % 4 == 0`), where the loop's
        number is the batch's for each of its parts. What else decides so is looked at when a step is asked for."""
        if not self._has_optimizer or not (self._counters.is_numbered or self.accelerate.counted):
            self.refuse("the script accumulates gradients itself: no optimizer step was asked for after a batch")
        writes = {id(p): of_torch.writes.of(p) for p in self._trained()}
        if self._unasked and any(self._writes.get(key, now) != now for key, now in writes.items()):
            self.refuse("the script changes weights itself after a batch")
        self._writes = writes
        self._unasked += self.share is not None and self.share.is_last

    def step_put_off(self) -> None:
        """By accelerate's accumulate(), until the last part of the batch."""
        self._is_put_off = True

    def after_pass(self, this_pass: Pass) -> None:
        if not self.accelerate.has_more(this_pass):
            self.end_pass(this_pass)

    def end_pass(self, this_pass: Pass) -> None:
        self._driven = None
        split = this_pass.loader.__dict__.get("_vramfit_split")
        if split is not None and split.owner is self:
            split.this_pass = None  # which holds the loader: nothing but a collection would end a circle
            is_within = self.share is not None and not self.share.is_last and (self._trains or not self.share.is_first)
            if is_within and this_pass.wanted is None:
                self.refuse("the script leaves a pass over its data before the end, in the middle of a batch")
            self.share = None

    def at_end(self) -> None:
        """Of the script: one that counts its batches has broken off within one of ours."""
        share = self.share
        if self.framework_accumulates or garbage.does_run_end_early():
            return
        if self._unasked and not self._has_stepped and os.getpid() == self._pid:
            self.refuse("the script accumulates gradients itself, and never asked for an optimizer step")
        if share is None or share.is_last:
            return
        if self._backwards and os.getpid() == self._pid:
            self.refuse(
                f"the script ended in the middle of a batch, before its optimizer's step: it counts batches itself, of "
                f"which it sees {self.accumulate} times as many with the plan"
            )

    def on_plateau(self) -> None:
        """A learning rate that follows a metric, asked for it after a batch."""
        if self._is_open() and self.accumulate > 1 and self._trains:
            self.refuse("ReduceLROnPlateau is given the loss of each batch, and would see that of a micro-batch")

    # -- what the window says (training_loop.Window)

    def _is_open(self) -> bool:
        return self.share is not None and not self.framework_accumulates

    def is_due(self, optimizer: Any) -> bool:
        return self.share is None or not self._is_open() or self.share.is_last

    def keeps_gradients(self, optimizer: Any) -> bool:
        """From the first backward pass of a window until its step."""
        if self.share is None or not self._is_open():
            return False
        if self._backwards and not self._asked:
            self.refuse("gradients are zeroed between the backward pass and the optimizer's step")
        has_begun = not self.share.is_first or self._backwards > 0
        return has_begun and not (self.share.is_last and self._stepped)

    def before_backward(self, roots: list[Any]) -> Any:
        """What to multiply the loss by: a number, or a tensor."""
        if self.framework_accumulates and position.phase == TRAIN and self.accumulate > 1:
            self.divisors.look_at_trainer(roots, self._place())
        if self.share is None or not self._is_open():
            return 1.0
        self._begin_backward(self.share)
        if (self.labels.in_use or self.divisors.needs_all_parts()) and self._backwards > 1:
            self.refuse("a mean over labels and another loss are differentiated one after the other")
        weight = self.labels.weight_of(roots, self.share)
        if weight is None and self.accumulate > 1:
            weight = self.divisors.weight_of(roots, self.share, self._backwards - 1, self._place())
            if weight is not None:
                self.labels.forget_others()
        return self.share.size / self.share.of if weight is None else weight

    def _begin_backward(self, share: Share) -> None:
        self._look_at_gradients()
        if share.is_first and any(of_torch.backward_hooks.of(p) for p in self._trained()):
            self.refuse("hooks on parameters see the gradients of one micro-batch")
        self._backwards += 1
        self._counters.trains(sys._getframe(1))

    def after_backward(self) -> None:
        if not self._is_open() or self.share is None:
            return
        if self.share.is_last:
            if self._unasked and not (self.labels.is_whole() and self.divisors.is_whole(self._backwards - 1)):
                self.stop(
                    "the script accumulates gradients itself, of a loss that is divided by a number of its batch's "
                    "own: those of a batch can't be put together from its parts without those of the batches before it"
                )
                return
            if self._unasked:
                return
            self.labels.divide(self._parameters())
            is_divided = self.divisors.divide(self._parameters(), self._backwards - 1, self._place())
            if (self.labels.in_use or is_divided) and self._stepped:
                self.stop("optimizers step within backward, before all labels of a batch are counted")
        else:
            self.remember_gradients()

    @staticmethod
    def _place() -> str:
        return frames.script_line(sys._getframe(1))

    def step_called(self, optimizer: Any, closure: Callable[[], Any] | None) -> tuple[bool, Any]:
        """Whether to take the step; if not, what step() returns."""
        if not self._is_open() or self.share is None:
            # A part of its own (accumulate 1) is one of an evaluation, which is not trained on.
            if self.accumulate > 1 and self._has_parts and not self._has_trained and not self.framework_accumulates:
                named = ", ".join(str(ordinal + 1) for ordinal in self.loaders)
                self.refuse(
                    f"nothing is trained on the batches of data loader {named}: the optimizer steps after others"
                )
            return True, None
        if id(optimizer) in self._asked:
            self.refuse("an optimizer steps more than once for a batch")
        self._asked.append(id(optimizer))
        self._has_stepped = True
        if self.share.is_last:
            self._unasked = 0
        if self.accumulate > 1:
            self._counters.trains(sys._getframe(1))
            self._counters.judge(sys._getframe(1))
        if self.share.is_last:
            return True, None
        loss = None
        if closure is not None:
            with self._torch.enable_grad():
                loss = closure()
        self._stepped.append(id(optimizer))
        return False, loss

    def step_taken(self, optimizer: Any) -> None:
        self._stepped.append(id(optimizer))

    # -- what a window can't be

    def learn_optimizer(self, optimizer: Any) -> None:
        self._has_optimizer = True
        self._object_counters.learn_optimizer(optimizer)
        if type(optimizer).__name__ == "LBFGS" and self.accumulate > 1 and not self.framework_accumulates:
            self.refuse("LBFGS asks for the gradients of a batch several times a step")

    def on_root(self, module: Any, args: Any, kwargs: Any) -> None:
        """A forward after a step that was put off would be one of old weights."""
        if position.phase != TRAIN or not self._torch.is_grad_enabled():
            return
        is_open = self._is_open()
        if self.accumulate > 1 and (is_open or self.framework_accumulates):
            self._look_at_module(module, self.share if is_open else None)
        root = scopes.root_of(module)
        if not is_open or root is None or not root.parameters:
            return
        self._trains = self._has_trained = True
        self._counters.trains(sys._getframe(1))
        self._waiting.clear()
        if self._is_ahead:
            self.refuse("batches are drawn ahead of the training, which would be on parts of other batches")
        self._name_statistics(module)
        if self._stepped and self._is_putting_off():
            self.refuse("the script goes on training on a batch after the optimizer's step: it would use old weights")

    def _look_at_module(self, module: Any, share: Share | None) -> None:
        self._module_counters.before_forward(module, share)

    def _is_putting_off(self) -> bool:
        """Whether the steps of this part are taken later."""
        return not self.is_due(None)

    def _is_model(self, value: Any) -> bool:
        return isinstance(value, self._torch.nn.Module) and next(value.parameters(), None) is not None

    def _parameters(self) -> list[Any]:
        return [p for _, module in scopes.live_roots() for p in module.parameters() if p.grad is not None]

    def _name_statistics(self, module: Any) -> None:
        """Layers that mix samples, or draw random numbers for each: known for what they are, and told once."""
        if self._named:
            return
        self._named = True
        parts = list(module.modules())
        if any(getattr(part, "scale_grad_by_freq", False) and part.training for part in parts):
            text = f"an embedding divides gradients by how often a row is in {self.size} samples (scale_grad_by_freq)"
            self.name_effect(text)
        if batch_norms.train_in(module):
            text = f"batch normalisation sees {self.size} samples at once, so statistics and gradients are others"
            self.name_effect(text, "batch_statistics")
        elif any("Dropout" in type(part).__name__ and part.training and getattr(part, "p", 0) for part in parts):
            text = "dropout draws its masks for each micro-batch: other random numbers, of the same distribution"
            self.name_effect(text)

    @staticmethod
    def _trained() -> list[Any]:
        return [p for _, module in scopes.live_roots() for p in module.parameters() if p.requires_grad]

    def remember_gradients(self) -> None:
        if self._is_open():
            self._gradients = {id(p): (id(p.grad), of_torch.writes.of(p.grad)) for p in self._parameters()}

    def _look_at_gradients(self) -> None:
        """Between two micro-batches of a batch nobody may have changed what was accumulated."""
        if not self._gradients or self._backwards:
            return
        now = {id(p): (id(p.grad), of_torch.writes.of(p.grad)) for p in self._parameters()}
        if any(now.get(key) != value for key, value in self._gradients.items()):
            self.refuse("the script changes, replaces or zeroes gradients itself between two batches")


def install(torch: Any, options: dict[str, Any]) -> None:
    technique = process.own(MicroBatch, torch, options)
    atexit.register(technique.at_end)
    loaders.before_pass.insert(0, technique.before_pass)  # before the cutter asks how long the pass is
    events.batch.listen(technique.on_batch)
    loaders.after_pass.append(technique.after_pass)
    events.root_enter.listen(technique.on_root)
    events.optimizer_made.listen(technique.learn_optimizer)
    technique.accelerate.install()
    technique.labels.install()
    between_steps.put_off_averages(torch, technique)
    machine = training_loop.install(torch)
    if technique.accumulate > 1 or machine.window is None:  # a plan may have another one for evaluations
        machine.window = technique
    between_steps.watch_plateaus(torch, technique)
    importing.after_import(of_trainer.MODULE, TrainerBatches(technique, ID).hugging_face)
    LightningBatches(technique).install()
