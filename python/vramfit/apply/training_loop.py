"""The places of a training loop where techniques step in: the loss on its way to backward(), the optimizer's step, the
zeroing of gradients, clipping, schedulers and the script's own GradScaler.

Each is patched once, here, and only when a technique of the plan needs it. Order matters and is fixed: whether a step
is due is asked first (micro_batch), then how it is taken (autocast's scaler).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

# loss tensor -> loss tensor, applied in order before backward()
loss_filters: list[Callable[[Any], Any]] = []
# Called with an optimizer whose step() is called: False = not now. `peek` asks without counting the call.
step_is_due: list[Callable[[Any, bool], bool]] = []
# Called with (optimizer, take): takes the step by calling take(), or doesn't.
step_takers: list[Callable[[Any, Callable[[], Any]], Any]] = []
# Called with parameters before they are clipped.
before_clipping: list[Callable[[list[Any]], None]] = []
# True while gradients of an unfinished step must survive zero_grad(); asked with the optimizer, or None for a module's.
keeps_gradients: list[Callable[[Any], bool]] = []

_installed: list[bool] = []
_taking: list[Any] = []  # optimizers whose step is being taken, so that a scaler's inner call goes straight through


def _due(optimizer: Any, peek: bool) -> bool:
    return all([due(optimizer, peek) for due in step_is_due])


def _gate(step: Callable[..., Any]) -> Callable[..., Any]:
    """Around the class's own step(): of every optimizer class, since its base class hooks step() on construction."""

    @functools.wraps(step)
    def gated(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self in _taking:
            return step(self, *args, **kwargs)
        if not _due(self, False):
            return None
        _taking.append(self)
        try:
            take: Callable[[], Any] = functools.partial(step, self, *args, **kwargs)
            for taker in step_takers:
                take = functools.partial(taker, self, take)
            return take()
        finally:
            _taking.remove(self)

    return gated


def _patch_optimizers(torch: Any) -> None:
    base = torch.optim.Optimizer
    original_hook = base.profile_hook_step

    def profile_hook_step(function: Callable[..., Any]) -> Callable[..., Any]:
        gated = _gate(original_hook(function))
        gated.hooked = True  # type: ignore[attr-defined]
        return gated

    base.profile_hook_step = staticmethod(profile_hook_step)
    _skip_when(base, "zero_grad", lambda self, args: _keeps(self))
    _skip_when(torch.nn.Module, "zero_grad", lambda self, args: _keeps(None))


def _keeps(optimizer: Any) -> bool:
    return any(keeps(optimizer) for keeps in keeps_gradients)


def _skip_when(owner: Any, name: str, condition: Callable[[Any, tuple[Any, ...]], bool]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if condition(self, args):
            return None
        return original(self, *args, **kwargs)

    setattr(owner, name, call)


def _patch_scaler(torch: Any) -> None:
    """The script's own GradScaler: between steps it must neither unscale nor update."""
    scaler = torch.amp.GradScaler
    original_step = scaler.step

    @functools.wraps(original_step)
    def step(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        if optimizer in _taking:
            return original_step(self, optimizer, *args, **kwargs)
        if not _due(optimizer, False):
            return None
        _taking.append(optimizer)
        try:
            return original_step(self, optimizer, *args, **kwargs)
        finally:
            _taking.remove(optimizer)

    scaler.step = step
    _skip_when(scaler, "unscale_", lambda self, args: bool(args) and args[0] not in _taking and not _due(args[0], True))
    _skip_when(scaler, "update", lambda self, args: _keeps(None))


def _patch_backward(torch: Any) -> None:
    original = torch.autograd.backward

    @functools.wraps(original)
    def backward(tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> Any:
        if loss_filters and hasattr(tensors, "requires_grad"):
            for loss_filter in loss_filters:
                tensors = loss_filter(tensors)
        return original(tensors, grad_tensors, *args, **kwargs)

    torch.autograd.backward = backward


def _patch_clipping(torch: Any) -> None:
    from torch.nn.utils import clip_grad

    def wrap(name: str, unclipped: float) -> None:
        original = getattr(clip_grad, name)

        @functools.wraps(original)
        def clip(parameters: Any, limit: Any = None, *args: Any, **kwargs: Any) -> Any:
            tensors = [parameters] if hasattr(parameters, "grad") else list(parameters)
            keyword = "max_norm" if name == "clip_grad_norm_" else "clip_value"
            limit = kwargs.pop(keyword, limit)
            if _keeps_after_next_step():
                limit = unclipped
            else:
                for prepare in before_clipping:
                    prepare(tensors)
            return original(tensors, limit, *args, **kwargs)

        setattr(clip_grad, name, clip)
        setattr(torch.nn.utils, name, clip)

    wrap("clip_grad_norm_", float("inf"))
    wrap("clip_grad_value_", float("inf"))


def _keeps_after_next_step() -> bool:
    """Whether the coming step() is one that will not be taken: clipping a part of the gradients would be wrong."""
    return not all([due(None, True) for due in step_is_due])


def _patch_schedulers(torch: Any) -> None:
    from vramfit import loaders

    def is_between_steps(self: Any, args: tuple[Any, ...]) -> bool:
        # A call outside any loader pass is made once an epoch, and stays.
        return _keeps(getattr(self, "optimizer", None)) and loaders.innermost() is not None

    _skip_when(torch.optim.lr_scheduler.LRScheduler, "step", is_between_steps)
    for kind in vars(torch.optim.lr_scheduler).values():
        own_step = isinstance(kind, type) and "step" in vars(kind)
        if own_step and kind is not torch.optim.lr_scheduler.LRScheduler:
            _skip_when(kind, "step", is_between_steps)


def install(torch: Any) -> None:
    if _installed:
        return
    _installed.append(True)
    _patch_optimizers(torch)
    _patch_scaler(torch)
    _patch_backward(torch)
    _patch_clipping(torch)
    _patch_schedulers(torch)
