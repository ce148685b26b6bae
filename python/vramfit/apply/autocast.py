"""Mixed precision around each forward of a root, and around the loss made of what came out of it; nothing else.

    root's forward          autocast
    ... to backward()       autocast for operations on the graph (loss_region.py), as the PyTorch guide has it
    everything else         as it was: backward, optimizer, metrics, evaluation outside of the model

What a forward without a backward pass returns (evaluation) is float32 again, as the script expects it. With float16 the
loss is scaled (loss_scale.py).
"""

from __future__ import annotations

import atexit
import functools
import os
from typing import Any

from vramfit import apply
from vramfit.apply import foreign_forwards, training_loop
from vramfit.apply.loss_region import LossRegion, to_float
from vramfit.apply.loss_scale import LossScale
from vramfit.base import events, notes, process
from vramfit.base.recorder import BACKWARD, TRAIN
from vramfit.contract import notes as said
from vramfit.contract import plans
from vramfit.observe import job, loaders, owners, phases, scopes
from vramfit.private import torch as of_torch

ID = "autocast"


class Autocast:
    KEEPS = process.ALL  # but for what in_child() begins anew

    def __init__(self, torch: Any, options: plans.Autocast) -> None:
        self._torch = torch
        self._dtype = getattr(torch, options.dtype)
        self._wants_scale = options.is_scaled()
        self._loss = LossRegion(torch, self._dtype)
        self._has_told_hooks = False
        self.begin()

    def in_child(self) -> None:
        self.begin()

    def begin(self) -> None:
        self._module: Any = None  # the root whose forward runs
        self._forward: Any = None  # its autocast
        self._in_loss = False
        self._goes_on = False  # that forward began within a loss: of two models, the first may still be trained
        self.begin_scale()

    def begin_scale(self) -> None:
        if self._wants_scale:
            machine = training_loop.machine
            machine.scale = LossScale(self._torch)
            machine.refuse_scale = lambda text: apply.refused(ID, text)

    def learn_optimizer(self, optimizer: Any) -> None:
        if type(optimizer).__name__ == "LBFGS":
            text = "LBFGS takes curvature from differences of gradients, which half precision rounds away"
            apply.refused(ID, text)

    # -- the forward

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        root = scopes.root_of(module)
        if root is None or not root.parameters or self._forward is not None:
            return  # nn.CrossEntropyLoss and its like are part of the loss
        self._goes_on = self._in_loss
        self.end_loss()
        if (refusal := self._find_obstacle(module)) is not None:
            apply.refused(ID, refusal)
            return
        self._begin_forward(module)
        scaler = " with a scaled loss" if self._wants_scale else ""
        apply.applied(ID, f"autocast to {str(self._dtype).replace('torch.', '')}{scaler}")
        self._tell_hooks(module)

    def _tell_hooks(self, module: Any) -> None:
        """Gradients are unscaled where they reach a leaf: hooks further inside see them as they are on the way."""
        if not self._wants_scale or self._has_told_hooks:
            return
        hooked = [type(part).__name__ for part in module.modules() if of_torch.module_backward_hooks.of(part)]
        if hooked:
            self._has_told_hooks = True
            text = f"backward hooks of modules ({hooked[0]}) see gradients times the scale of the loss, 65536 at first"
            notes.note(said.PlanEffect(id=ID, text=text))

    def enter_again(self, module: Any) -> None:
        """Recomputed in backward, as it was computed."""
        root = scopes.root_of(module)
        if root is not None and root.parameters and self._forward is None:
            self._begin_forward(module)

    def _begin_forward(self, module: Any) -> None:
        self._module, self._forward = module, self._torch.autocast("cuda", dtype=self._dtype)
        self._forward.__enter__()

    def _find_obstacle(self, module: Any) -> str | None:
        own = job.autocast_dtype()
        if own is not None:
            return f"the script uses autocast with {own} already"
        if self._wants_scale and foreign_forwards.is_sharded(module):
            return "parameters are sharded: ranks would have to agree on each overflow"
        return None

    def leave(self, module: Any, args: Any, result: Any) -> Any:
        """A forward hook of every module: what it returns takes the place of the result."""
        if module is not self._module or phases.is_inside_module():
            return None
        region, self._forward, self._module = self._forward, None, None
        region.__exit__(None, None, None)
        if phases.position.stage == BACKWARD:
            return None
        is_trained = self._torch.is_grad_enabled() and phases.position.phase == TRAIN
        is_trained = is_trained and any(tensor.requires_grad for _, tensor in owners.tensors_in(result))
        if is_trained or self._goes_on:
            self._in_loss = True
            self._loss.open()
        return None if is_trained else to_float(self._torch, result, self._dtype)

    def end_loss(self, *_: Any) -> None:
        if self._in_loss:
            self._in_loss = False
            self._loss.close()


def _tell_at_exit() -> None:
    pid, machine = os.getpid(), training_loop.machine

    def tell() -> None:
        if os.getpid() == pid and machine.scale is not None and machine.scale.skipped:
            text = (
                f"{machine.scale.skipped} optimizer steps were left out, of {machine.scale.steps}: their fp16 "
                f"gradients overflowed, as they do until the loss scale is found (it is {machine.scale.value:g} now)"
            )
            notes.note(said.PlanEffect(id=ID, text=text))

    atexit.register(tell)


def _close_before_backward(torch: Any, technique: Autocast) -> None:
    """Tensor.backward is itself a function that modes see, and one can't be taken off while it is asked."""
    original = torch.Tensor.backward

    @functools.wraps(original)
    def backward(self: Any, *args: Any, **kwargs: Any) -> Any:
        technique.end_loss()
        return original(self, *args, **kwargs)

    torch.Tensor.backward = backward


def install(torch: Any, options: plans.Autocast) -> None:
    from torch.nn.modules import module

    training_loop.install(torch)
    technique = process.own(Autocast, torch, options)
    events.optimizer_made.listen(technique.learn_optimizer)
    events.root_enter.listen(technique.enter)
    events.root_recomputed.listen(technique.enter_again)
    _close_before_backward(torch, technique)
    _tell_at_exit()
    module.register_module_forward_hook(technique.leave, always_call=True)
    for event in (events.backward_begin, events.step_begin, events.batch):
        event.listen(technique.end_loss)
    loaders.after_pass.append(technique.end_loss)
