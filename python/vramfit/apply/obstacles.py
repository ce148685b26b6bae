"""What would keep a plan from this script, found while none is applied (VRAMFIT_OBSTACLES): the machines of the
techniques watch the script as they do under a plan, and leave everything as it is.

    under a plan                              here
    a batch comes in parts                    whole: its first part and its last
    a step is put off, a loss weighted        nothing is
    a gradient is freed in backward           it would be: whoever looks at it from there on finds none
    a refusal ends the job                    is a note, once; then that machine watches no more

What only shows with a plan in force (numbers of parts that differ, values on the card) is not known here, and nothing
is said of it. Nothing here may allocate on the card: the run's memory is what forecasts begin with.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from vramfit.apply import between_steps, micro_batch, release_gradients
from vramfit.apply.split_sampler import Share
from vramfit.base import events, notes, process
from vramfit.base.around import around
from vramfit.contract import notes as said
from vramfit.contract import plans
from vramfit.observe import loaders
from vramfit.observe.loaders import Pass
from vramfit.private import lightning as of_lightning
from vramfit.private import loaders as of_loaders
from vramfit.private import torch as of_torch
from vramfit.private import transformers as of_trainer

_TRAINERS = (of_trainer.MODULE, *(f"{package}." for package in of_lightning.PACKAGES))  # which accumulate by themselves
_PARTS = 2  # what accumulation is refused for does not depend on how many
_MAX_LOADERS = 16


class BatchesInParts(micro_batch.MicroBatch):
    """The batches of one loader, in parts."""

    def __init__(self, torch: Any, ordinal: int) -> None:
        self.is_told = False
        super().__init__(torch, plans.MicroBatch(micro_batch=1, accumulate=_PARTS, loaders=[ordinal]))

    def refuse(self, text: str) -> None:
        if not self.is_told:
            self.is_told = True
            notes.note(said.PlanObstacle(id=micro_batch.ID, text=text, loader=self.loaders[0]))

    stop = refuse

    def name_effect(self, text: str, what: said.EffectKind = "other") -> None:
        """None: nothing is done."""

    def before_pass(self, this_pass: Pass) -> None:
        if of_loaders.is_stream(this_pass.loader) or getattr(this_pass.loader, "batch_sampler", None) is None:
            self.refuse(f"data loader {this_pass.ordinal + 1} makes its batches in a way of its own")

    def on_batch(self, this_pass: Pass, batch: Any) -> None:
        self.batch_fetched(this_pass, Share(1, 1, is_first=True, is_last=True))

    def end_pass(self, this_pass: Pass) -> None:
        self._driven = self.share = None

    def before_backward(self, roots: list[Any]) -> Any:
        """`roots` are not looked at: a loss is weighted only under a plan."""
        if self.share is not None:
            self._begin_backward(self.share)
        return 1.0

    def _settings_of_engine(self, module: Any) -> str:
        return (
            "with gradient_accumulation_steps and train_micro_batch_size_per_gpu, and smaller batches from the loader"
        )

    def _look_at_module(self, module: Any, share: Share | None) -> None:
        """Does nothing: what it counts is compared from part to part."""

    def _is_putting_off(self) -> bool:
        return True


class _Loops:
    """Who watches the loops over loaders, by their ordinals."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._watching: dict[int, BatchesInParts] = {}
        self._optimizers: list[Any] = []
        self._stepping: list[Any] = []  # one that calls its base's step() is one step

    def _all(self) -> list[BatchesInParts]:
        return [one for one in self._watching.values() if not one.is_told]

    def before_pass(self, this_pass: Pass) -> None:
        one = self._watching.get(this_pass.ordinal)
        if one is None and len(self._watching) < _MAX_LOADERS:
            one = self._watching[this_pass.ordinal] = BatchesInParts(self._torch, this_pass.ordinal)
            one.accelerate.install()
            for optimizer in self._optimizers:
                one.learn_optimizer(optimizer)
        if one is not None and not one.is_told:
            one.before_pass(this_pass)

    def on_batch(self, this_pass: Pass, batch: Any) -> None:
        one = self._watching.get(this_pass.ordinal)
        if one is None or one.is_told:
            return
        if this_pass.delivered == 1 and _is_of_trainer(sys._getframe(1)):
            one.is_told = True  # nothing is known of it
            return
        one.on_batch(this_pass, batch)

    def after_pass(self, this_pass: Pass) -> None:
        if this_pass.ordinal in self._watching:
            self._watching[this_pass.ordinal].after_pass(this_pass)

    def learn_optimizer(self, optimizer: Any) -> None:
        self._optimizers.append(optimizer)
        for one in self._all():
            one.learn_optimizer(optimizer)

    def on_root(self, module: Any, args: Any, kwargs: Any) -> None:
        for one in self._all():
            one.on_root(module, args, kwargs)

    def before_backward(self, tensors: Any) -> None:
        for one in self._all():
            one.before_backward([])

    def zeroed(self, owner: Any, to_none: bool) -> None:
        for one in self._all():
            one.keeps_gradients(owner)

    def before_step(self, optimizer: Any) -> None:
        self._stepping.append(optimizer)
        if self._stepping.count(optimizer) == 1:
            for one in self._all():
                one.step_called(optimizer, None)

    def after_step(self, optimizer: Any) -> None:
        if optimizer in self._stepping:
            self._stepping.remove(optimizer)
        if optimizer not in self._stepping:
            for one in self._all():
                one.step_taken(optimizer)

    def is_due(self, optimizer: Any) -> bool:
        return True

    def on_plateau(self) -> None:
        for one in self._all():
            one.on_plateau()

    def at_end(self) -> None:
        for one in self._all():
            one.at_end()


class GradientsReleased(release_gradients.ReleaseGradients):
    """Sees when the backward pass is over which parameters would have been updated, and their gradients freed."""

    def in_child(self) -> None:
        super().in_child()
        self._is_told = False
        self._kept: dict[int, tuple[int, int]] = {}  # gradients of an earlier step, as this backward pass found them

    def refuse(self, text: str) -> None:
        self._owners.clear()  # and nothing is watched any more
        self._released.clear()
        self._stepped.clear()
        if not self._is_told:
            self._is_told = True
            notes.note(said.PlanObstacle(id=release_gradients.ID, text=text, loader=None))

    stop = refuse

    def learn(self, optimizer: Any) -> None:
        if not self._is_told:
            super().learn(optimizer)

    def _hook_step(self, optimizer: Any) -> None:
        """One hook for all of them: these may be copied."""

    def _hook_gradient(self, parameter: Any) -> None:
        """Does nothing: what a hook did to the script's backward pass would be our doing."""

    def before_backward(self, tensors: Any) -> None:
        if not self._owners:
            return
        super().before_backward(tensors)
        self._kept = {id(each): _written(each) for each, _ in self._owned() if id(each) in self._stepped}

    def after_backward(self) -> None:
        for parameter, owner in self._owned():
            if parameter.grad is None or self._kept.get(id(parameter)) == _written(parameter):
                continue
            if obstacle := self._find_obstacle(parameter, owner):
                self.stop(obstacle)
                return
            self._released[id(parameter)] = of_torch.writes.of(parameter, 0)

    def _owned(self) -> list[tuple[Any, Any]]:
        alive = [(known(), owner) for known, owner in self._owners.values()]
        return [(parameter, owner) for parameter, owner in alive if parameter is not None]


def _written(parameter: Any) -> tuple[int, int]:
    """The writes to its gradient, and which gradient that is."""
    return id(parameter.grad), of_torch.writes.of(parameter.grad, 0)


def _is_of_trainer(frame: FrameType | None) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(_TRAINERS):
            return True
        frame = frame.f_back
    return False


def _watch_loops(torch: Any) -> None:
    loops = process.own(_Loops, torch)
    atexit.register(loops.at_end)
    loaders.before_pass.insert(0, loops.before_pass)
    events.batch.listen(loops.on_batch)
    loaders.after_pass.append(loops.after_pass)
    events.root_enter.listen(loops.on_root)
    events.optimizer_made.listen(loops.learn_optimizer)
    events.backward_begin.listen(loops.before_backward)
    events.gradients_zeroed.listen(loops.zeroed)
    events.step_begin.listen(loops.before_step)
    events.step_end.listen(loops.after_step)
    between_steps.watch_plateaus(torch, loops)


def _before_compiling(torch: Any, call: Callable[[], None]) -> None:
    """torch.compile traces Python, and may stumble over ours."""

    def compile(*_: Any, **__: Any) -> Iterator[Any]:
        call()
        yield

    torch.compile = around("obstacles.compile", torch.compile, compile)


def _watch_gradients(torch: Any) -> None:
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    watch = process.own(GradientsReleased, torch)
    give_back = release_gradients.watch_gradients(torch, watch)
    _before_compiling(torch, give_back)
    release_gradients.watch_others(torch, watch)
    register_optimizer_step_pre_hook(watch.before_step)
    events.gradients_zeroed.listen(watch.zeroed)
    events.optimizer_made.listen(watch.learn)
    events.backward_begin.listen(watch.before_backward)
    events.backward_end.listen(watch.after_backward)
    events.root_enter.listen(watch.on_root)


def install(torch: Any) -> None:
    _watch_loops(torch)
    _watch_gradients(torch)
