"""The step machine: the one object through which a plan acts on a training step.

It stands at the places of a training loop where plans have a say (the backward pass, the optimizer's step, the zeroing
of gradients, clipping, schedulers, the script's own GradScaler), patched once, here, when a technique first asks for
it. What it asks, in this order and no other:

    backward(loss)     window: with what weight?       scale: times what, and leaves divide by it
    clip, unscale_     window: is this step due?       (gradients are true ones at every moment: nothing to unscale)
    optimizer.step()   window: is this step due?       scale: did what it would use overflow?
    zero_grad()        window: are these kept?         scale: overflows of what is zeroed are forgotten
    scheduler.step()   window: is this step due?

`window` is micro_batch's accumulation, `scale` autocast's loss scale; either may be missing.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, Protocol

from vramfit.apply.loss_scale import LossScale, Unfit
from vramfit.base import events, process
from vramfit.base.recorder import OTHER
from vramfit.observe.phases import position
from vramfit.private import torch as of_torch


class Window(Protocol):
    """The backward passes that make up one optimizer step."""

    def before_backward(self, roots: list[Any]) -> Any: ...  # what to multiply the loss by: a number, a 0-dim tensor
    def after_backward(self) -> None: ...
    def is_due(self, optimizer: Any) -> bool: ...  # asked with None for a step of whichever optimizer
    def step_called(self, optimizer: Any, closure: Any) -> tuple[bool, Any]: ...  # take it? if not: what step() returns
    def step_taken(self, optimizer: Any) -> None: ...
    def keeps_gradients(self, optimizer: Any) -> bool: ...
    def remember_gradients(self) -> None: ...  # something of ours wrote them


class StepMachine:
    KEEPS = process.ALL  # a technique that it serves begins anew by itself

    def __init__(self) -> None:
        self.installed = False
        self.window: Window | None = None
        self.scale: LossScale | None = None
        self.refuse_scale: Callable[[str], None] = lambda text: None
        self.scaled_by_script = False  # a GradScaler of the script's, enabled, scales its losses
        self.stepping: list[Any] = []  # optimizers whose step() runs: what it calls inside goes straight through
        self.depth = 0  # of backward passes in one another

    # -- backward

    def backward(self, run: Callable[..., Any], tensors: Any, grad_tensors: Any, args: Any, kwargs: Any) -> Any:
        """`run` is torch.autograd.backward."""
        tensors = tensors if hasattr(tensors, "grad_fn") else list(tensors)
        roots = tensors if isinstance(tensors, list) else [tensors]
        self.depth += 1
        try:
            if self.depth > 1:
                inside = self.scale.unscaling_inside(roots) if self._scales() else contextlib.nullcontext()
                with inside:  # type: ignore[union-attr]
                    return run(tensors, grad_tensors, *args, **kwargs)
            weight = self.window.before_backward(roots) if self.window is not None else 1.0
            with self._scaling(roots) as scale:
                result = run(*_multiplied(tensors, grad_tensors, weight * scale), *args, **kwargs)
            if self.window is not None:
                self.window.after_backward()
            return result
        finally:
            self.depth -= 1

    def _scales(self) -> bool:
        return self.scale is not None and not self.scaled_by_script

    @contextlib.contextmanager
    def _scaling(self, roots: list[Any]) -> Any:
        with contextlib.ExitStack() as stack:
            scale = 1.0
            if self._scales() and any(root.is_cuda for root in roots):
                try:
                    scale = stack.enter_context(self.scale.unscaling(roots))  # type: ignore[union-attr]
                except Unfit as reason:
                    self.scale = None
                    self.refuse_scale(str(reason))
            yield scale

    # -- steps

    def step(self, optimizer: Any, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`step` is the optimizer's own, bound."""
        if optimizer in self.stepping:
            return step(*args, **kwargs)
        if self.window is not None:
            closure = args[0] if args else kwargs.get("closure")
            takes, answer = self.window.step_called(optimizer, closure if callable(closure) else None)
            if not takes:
                return answer
        with self._stepping(optimizer):
            if not self._scales():
                return step(*args, **kwargs)
            return self._step_scaled(optimizer, step, args, kwargs)

    @contextlib.contextmanager
    def _stepping(self, optimizer: Any) -> Any:
        self.stepping.append(optimizer)
        try:
            yield
        finally:
            self.stepping.remove(optimizer)
            if self.window is not None:
                self.window.step_taken(optimizer)

    def _step_scaled(self, optimizer: Any, step: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        scale = self.scale
        assert scale is not None
        skipped = scale.skipped
        result = scale.step(optimizer, step, args, kwargs)
        if scale.skipped > skipped:
            position.set_stage(OTHER)  # the step's own end was not reached
            if scale.is_lost():
                self.refuse_scale("gradients overflow at every loss scale: the loss is infinite or not a number")
        return result

    def step_by_scaler(self, run: Callable[..., Any], scaler: Any, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """`run` is GradScaler.step of the script's scaler."""
        if optimizer in self.stepping or not scaler.is_enabled():
            return run(scaler, optimizer, *args, **kwargs)  # disabled, it calls optimizer.step(), which is asked itself
        if self.window is not None and not self.window.step_called(optimizer, None)[0]:
            return None
        with self._stepping(optimizer):
            return run(scaler, optimizer, *args, **kwargs)

    # -- gradients

    def is_due(self, optimizer: Any) -> bool:
        return self.window is None or self.window.is_due(optimizer)

    def keeps(self, optimizer: Any) -> bool:
        """Whether gradients are kept; asked with an optimizer, or None for a module's gradients."""
        if self.window is not None and self.window.keeps_gradients(optimizer):
            return True
        if self.scale is not None and optimizer is not None:
            self.scale.forget_gradients(optimizer)
        return False


machine = process.own(StepMachine)


def _multiplied(tensors: Any, grad_tensors: Any, factor: Any) -> tuple[Any, Any]:
    """The tensors and gradients to begin a backward pass with, so that every gradient is `factor` times what it was."""
    if not hasattr(factor, "dim") and factor == 1.0:
        return tensors, grad_tensors
    if hasattr(tensors, "grad_fn"):
        if isinstance(grad_tensors, (list, tuple)):
            grad_tensors = grad_tensors[0] if grad_tensors else None
        if grad_tensors is not None:
            return tensors, grad_tensors * factor
        return (tensors if tensors.element_size() >= 4 else tensors.float()) * factor, None
    given = [None] * len(tensors) if grad_tensors is None else grad_tensors
    pairs = [_multiplied(tensor, gradient, factor) for tensor, gradient in zip(tensors, given)]
    return [tensor for tensor, _ in pairs], [gradient for _, gradient in pairs]


def _patch_optimizers(torch: Any) -> None:
    """Around every optimizer class's own step(): the base class hooks it when one is constructed."""
    base = torch.optim.Optimizer
    original_hook = of_torch.step_hook.get()

    def hook_step(function: Callable[..., Any]) -> Callable[..., Any]:
        hooked = original_hook(function)

        @functools.wraps(hooked)
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            return machine.step(self, functools.partial(hooked, self), args, kwargs)

        step.hooked = True  # type: ignore[attr-defined]
        return step

    of_torch.step_hook.replace(staticmethod(hook_step))
    _skip_when(base, "zero_grad", lambda self, args: machine.keeps(self))
    _skip_when(torch.nn.Module, "zero_grad", lambda self, args: machine.keeps(None))


def _skip_when(owner: Any, name: str, condition: Callable[[Any, tuple[Any, ...]], bool]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if condition(self, args):
            return None
        return original(self, *args, **kwargs)

    setattr(owner, name, call)


def _patch_scaler(torch: Any) -> None:
    """The script's own GradScaler. Enabled, it scales what the script gives it, and the plan's scale stays out of its
    way; between the steps of a window it must neither unscale nor step nor update."""
    scaler = torch.amp.GradScaler
    original_step, original_scale = scaler.step, scaler.scale

    @functools.wraps(original_step)
    def step(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        return machine.step_by_scaler(original_step, self, optimizer, args, kwargs)

    @functools.wraps(original_scale)
    def scale(self: Any, outputs: Any) -> Any:
        machine.scaled_by_script = machine.scaled_by_script or self.is_enabled()
        return original_scale(self, outputs)

    scaler.step, scaler.scale = step, scale
    _skip_when(scaler, "unscale_", lambda self, args: not machine.is_due(args[0] if args else None))
    _skip_when(scaler, "update", lambda self, args: not machine.is_due(None))


def _patch_backward(torch: Any) -> None:
    original = torch.autograd.backward

    @functools.wraps(original)
    def backward(tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> Any:
        return machine.backward(original, tensors, grad_tensors, args, kwargs)

    torch.autograd.backward = backward


def _patch_clipping(torch: Any) -> None:
    """Clipping a part of the gradients would be wrong: between the steps of a window nothing is clipped."""
    from torch.nn.utils import clip_grad

    def wrap(name: str, unclipped: float) -> None:
        original = getattr(clip_grad, name)

        @functools.wraps(original)
        def clip(parameters: Any, limit: Any = None, *args: Any, **kwargs: Any) -> Any:
            keyword = "max_norm" if name == "clip_grad_norm_" else "clip_value"
            limit = kwargs.pop(keyword, limit)
            if machine.is_due(None):
                return original(parameters, limit, *args, **kwargs)
            norm = original(parameters, unclipped, *args, **kwargs)
            machine.window.remember_gradients()  # type: ignore[union-attr]  # multiplied by 1
            return norm

        setattr(clip_grad, name, clip)
        setattr(torch.nn.utils, name, clip)

    wrap("clip_grad_norm_", float("inf"))
    wrap("clip_grad_value_", float("inf"))


def _patch_schedulers(torch: Any) -> None:
    from vramfit.observe import loaders

    def is_between_steps(self: Any, args: tuple[Any, ...]) -> bool:
        # A call outside any loader pass is made once an epoch, and stays.
        return not machine.is_due(getattr(self, "optimizer", None)) and loaders.innermost() is not None

    _skip_when(torch.optim.lr_scheduler.LRScheduler, "step", is_between_steps)
    for kind in vars(torch.optim.lr_scheduler).values():
        own_step = isinstance(kind, type) and "step" in vars(kind)
        if own_step and kind is not torch.optim.lr_scheduler.LRScheduler:
            _skip_when(kind, "step", is_between_steps)


def _learn_optimizer(optimizer: Any) -> None:
    if machine.scale is not None:
        machine.scale.learn(optimizer)


def install(torch: Any) -> StepMachine:
    if not machine.installed:
        machine.installed = True
        events.optimizer_made.listen(_learn_optimizer)
        _patch_optimizers(torch)
        _patch_scaler(torch)
        _patch_backward(torch)
        _patch_clipping(torch)
        _patch_schedulers(torch)
    return machine
