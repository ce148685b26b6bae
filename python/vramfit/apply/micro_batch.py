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
from vramfit.apply import accumulated, between_steps, drivers, foreign_forwards, loss_numbers, training_loop
from vramfit.apply.accelerate_batches import AccelerateBatches
from vramfit.apply.accumulated import OwnAccumulation, PartGradients, trained_parameters
from vramfit.apply.lightning_batches import LightningBatches
from vramfit.apply.mixed_samples import effects_of_parts
from vramfit.apply.module_counters import ModuleCounters
from vramfit.apply.object_counters import ObjectCounters
from vramfit.apply.own_counters import OwnCounters
from vramfit.apply.part_weights import PartWeights
from vramfit.apply.split_loaders import SplitLoaders
from vramfit.apply.split_sampler import Share
from vramfit.apply.trainer_batches import TrainerBatches
from vramfit.base import events, frames, garbage, importing, notes, process
from vramfit.base.recorder import TRAIN
from vramfit.contract import notes as said
from vramfit.contract import plans
from vramfit.observe import loaders, scopes
from vramfit.observe.loaders import Pass
from vramfit.observe.phases import position
from vramfit.private import torch as of_torch
from vramfit.private import transformers as of_trainer

ID = "micro_batch"


class MicroBatch:
    """training_loop.Window. `share` is that of the batch which the script works on; None outside its training pass."""

    KEEPS = process.ALL  # but for what in_child() begins anew

    def __init__(self, torch: Any, options: plans.MicroBatch) -> None:
        self._torch = torch
        self.size = options.micro_batch
        self.accumulate = options.accumulate
        self.loaders = options.loaders
        self.framework_accumulates = False
        self.split_loaders = SplitLoaders(self, ID)
        self.weights = PartWeights(torch, self.stop, self.name_effect)
        self.accelerate = AccelerateBatches(self, self._is_open)
        self._counters = OwnCounters(self.refuse, self._is_model, self.accelerate.counts_batches)
        self._module_counters = ModuleCounters(torch, self.stop, self.name_effect)
        self._object_counters = ObjectCounters(torch, self.stop)
        self._named = self._is_sharded = False
        self._has_optimizer = self._has_stepped = False
        self._has_parts = self._has_trained = False  # given so far, of any pass; and a model was called to be trained
        self._pid = os.getpid()
        self.begin()

    def in_child(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.share: Share | None = None
        self._own_accumulation = OwnAccumulation()
        self._gradients = PartGradients()
        # In this micro-batch:
        self._trains = False  # a model was called to be trained
        self._backwards = 0  # begun
        self._is_put_off = False  # accelerate's accumulate() asks for no step after it
        self._asked: list[int] = []  # ids of optimizers whose step() was called
        self._stepped: list[int] = []  # and whose step is over, taken or put off
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
        if this_pass.ordinal in self.loaders and self.split_loaders.begin_pass(this_pass):
            self.share = None

    def on_batch(self, this_pass: Pass, batch: Any) -> None:
        share = self.split_loaders.share_of(this_pass)
        if share is not None:
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
            self._gradients.forget()
            self.weights.begin_batch()

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
        """Looks at what the script did with the micro-batch before this one."""
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
        if self._own_accumulation.pass_without_step(self.share is not None and self.share.is_last):
            self.refuse("the script changes weights itself after a batch")

    def step_put_off(self) -> None:
        """accelerate's accumulate() put the step off until the last part of the batch."""
        self._is_put_off = True

    def after_pass(self, this_pass: Pass) -> None:
        if not self.accelerate.has_more(this_pass):
            self.end_pass(this_pass)

    def end_pass(self, this_pass: Pass) -> None:
        self._driven = None
        if self.split_loaders.end_pass(this_pass):
            is_within = self.share is not None and not self.share.is_last and (self._trains or not self.share.is_first)
            if is_within and this_pass.wanted is None:
                self.refuse("the script leaves a pass over its data before the end, in the middle of a batch")
            self.share = None

    def at_end(self) -> None:
        """The script has ended: one that counts its batches has broken off within one of ours."""
        share = self.share
        if self.framework_accumulates or garbage.does_run_end_early():
            return
        if self._own_accumulation.batches and not self._has_stepped and os.getpid() == self._pid:
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
        """Whether it is between the first backward pass of a window and its step."""
        if self.share is None or not self._is_open():
            return False
        if self._backwards and not self._asked:
            self.refuse("gradients are zeroed between the backward pass and the optimizer's step")
        has_begun = not self.share.is_first or self._backwards > 0
        return has_begun and not (self.share.is_last and self._stepped)

    def before_backward(self, roots: list[Any]) -> Any:
        """The factor to multiply the loss by: a number, or a tensor."""
        if self.framework_accumulates and position.phase == TRAIN and self.accumulate > 1:
            self.weights.divisors.look_at_trainer(roots, self._share_of_trainer(), self._place())
        if self.share is None or not self._is_open():
            return 1.0
        self._begin_backward(self.share)
        if self.weights.need_one_loss() and self._backwards > 1:
            self.refuse("a mean over labels and another loss are differentiated one after the other")
        return self.weights.weight_of(roots, self.share, self.accumulate > 1, self._backwards, self._place())

    def _share_of_trainer(self) -> Share:
        return Share(self.size, self.size * self.accumulate, is_first=False, is_last=False)

    def _begin_backward(self, share: Share) -> None:
        if not self._backwards and self._gradients.were_touched():
            self.refuse(self._why_touched())
        if share.is_first and any(of_torch.backward_hooks.of(p) for p in trained_parameters()):
            self.refuse("hooks on parameters see the gradients of one micro-batch")
        self._backwards += 1
        self._counters.trains(sys._getframe(1))

    def _why_touched(self) -> str:
        if self._is_sharded:
            return (
                "the network is sharded over ranks (FSDP), which replaces its gradients in each backward pass: those "
                "of a batch's parts can't be told from what a script does to them; let the script accumulate"
            )
        return "the script changes, replaces or zeroes gradients itself between two batches"

    def after_backward(self) -> None:
        self.weights.divisors.end_backward()
        if not self._is_open() or self.share is None:
            return
        if self.share.is_last:
            if self._own_accumulation.batches and not self.weights.are_whole(self._backwards):
                self.stop(
                    "the script accumulates gradients itself, of a loss that is divided by a number of its batch's "
                    "own: those of a batch can't be put together from its parts without those of the batches before it"
                )
                return
            if self._own_accumulation.batches:
                return
            if self.weights.divide(self._backwards, self._place()) and self._stepped:
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
            self._own_accumulation.end()
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
        accumulated.learn_optimizer(optimizer)
        self._object_counters.learn_optimizer(optimizer)
        if type(optimizer).__name__ == "LBFGS" and self.accumulate > 1 and not self.framework_accumulates:
            self.refuse("LBFGS asks for the gradients of a batch several times a step")

    def on_root(self, module: Any, args: Any, kwargs: Any) -> None:
        """A forward after a step that was put off would be one of old weights."""
        if position.phase != TRAIN or not self._torch.is_grad_enabled():
            return
        is_open = self._is_open()
        if self.accumulate > 1 and (is_open or self.framework_accumulates):
            self._look_at_engine(module)
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

    def _look_at_engine(self, module: Any) -> None:
        if foreign_forwards.is_engine(module):
            self.refuse(
                f"DeepSpeed's engine adds up and averages gradients itself, and takes a step of its own after each "
                f"part: its configuration does what the plan would, {self._settings_of_engine(module)}"
            )

    def _settings_of_engine(self, module: Any) -> str:
        parts = self.accumulate * foreign_forwards.parts_of_engine(module)
        return (
            f"with gradient_accumulation_steps {parts} and train_micro_batch_size_per_gpu {self.size}, and batches of "
            f"{self.size} from the loader"
        )

    def _look_at_module(self, module: Any, share: Share | None) -> None:
        self._module_counters.before_forward(module, share)

    def _is_putting_off(self) -> bool:
        """Whether the steps of this part are taken later."""
        return not self.is_due(None)

    def _is_model(self, value: Any) -> bool:
        return isinstance(value, self._torch.nn.Module) and next(value.parameters(), None) is not None

    def _name_statistics(self, module: Any) -> None:
        """Names the effects of parts, once."""
        if self._named:
            return
        self._named = True
        self._is_sharded = any(map(foreign_forwards.is_sharded, module.modules()))
        for text, what in effects_of_parts(module, self.size):
            self.name_effect(text, what)

    def remember_gradients(self) -> None:
        if self._is_open():
            self._gradients.remember()


def install(torch: Any, options: plans.MicroBatch) -> None:
    technique = process.own(MicroBatch, torch, options)
    atexit.register(technique.at_end)
    loaders.before_pass.insert(0, technique.before_pass)  # before the cutter asks how long the pass is
    events.batch.listen(technique.on_batch)
    loaders.after_pass.append(technique.after_pass)
    events.root_enter.listen(technique.on_root)
    events.optimizer_made.listen(technique.learn_optimizer)
    technique.accelerate.install()
    technique.weights.labels.install()
    loss_numbers.watch_means_by_samples(torch)
    between_steps.put_off_averages(torch, technique)
    machine = training_loop.install(torch)
    if technique.accumulate > 1 or machine.window is None:  # a plan may have another one for evaluations
        machine.window = technique
    between_steps.watch_plateaus(torch, technique)
    importing.after_import(of_trainer.MODULE, TrainerBatches(technique, ID).hugging_face)
    LightningBatches(technique).install()
