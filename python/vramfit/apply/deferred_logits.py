"""What a last linear layer puts out, worked out when somebody looks: a loss in chunks of rows never needs all of it.

A deferred tensor knows the layer's inputs, and what was done to its outputs that keeps rows apart (view, float,
log_softmax). A loss takes it as it is; whatever else is done with it is done with the whole, which exists from then on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from vramfit.apply.tensor_metadata import METADATA
from vramfit.private import torch as of_torch

# A loss that took the rows has no whole tensor in its graph whose gradient these could give.
_OF_ITS_GRADIENT = (
    torch.autograd.grad,
    torch.autograd.backward,
    torch.Tensor.grad.__get__,
    torch.Tensor.register_hook,
    torch.Tensor.retain_grad,
)


class Layer:
    """One call of a linear layer, with the autocast that it was under."""

    def __init__(self, linear: Callable[..., Any], rows: Any, weight: Any, bias: Any) -> None:
        self.linear, self.rows, self.weight, self.bias = linear, rows, weight, bias
        self.needs_gradient = torch.is_grad_enabled() and any(
            one is not None and one.requires_grad for one in (rows, weight, bias)
        )
        self.autocast = (torch.is_autocast_enabled(), torch.get_autocast_gpu_dtype())
        self.versions = self._versions()
        self.whole: Any = None
        self.is_in_a_loss = False

    def _versions(self) -> list[int]:
        return [of_torch.writes.of(one, 0) for one in (self.rows, self.weight, self.bias) if one is not None]

    def require_unchanged(self) -> None:
        if self._versions() != self.versions:
            raise _refuse("looks at the outputs of its last layer after that one's weights or inputs were changed")

    def type(self) -> Any:
        return self.autocast[1] if self.autocast[0] else torch.promote_types(self.rows.dtype, self.weight.dtype)

    def call(self, rows: Any, weight: Any, bias: Any) -> Any:
        """Calls the layer without autocast's cache: what a call without gradients leaves there would be used where they
        are wanted."""
        enabled, dtype = self.autocast
        with torch.autocast("cuda", dtype=dtype, enabled=enabled, cache_enabled=False):
            return self.linear(rows, weight, bias)

    def materialize(self) -> Any:
        if self.whole is None:
            self.require_unchanged()
            with torch.set_grad_enabled(self.needs_gradient):
                self.whole = self.call(self.rows, self.weight, self.bias)
        return self.whole


def _refuse(what: str) -> RuntimeError:
    return RuntimeError(
        f'vramfit: chunked_loss with "linear" cannot be applied: the script {what}; take the plan without "linear"'
    )


class Deferred(torch.Tensor):
    """`steps` are what was done to the layer's outputs, each a function of a tensor."""

    IS_SHELL = True
    layer: Layer
    steps: tuple[Callable[[Any], Any], ...]
    is_log: bool  # of probabilities, not logits

    @staticmethod
    def __new__(
        cls: Any,
        layer: Layer,
        size: Any,
        dtype: Any,
        steps: tuple[Callable[[Any], Any], ...] = (),
        is_log: bool = False,
    ) -> Any:
        made = of_torch.make_shell.get()(cls, size, dtype=dtype, device=layer.rows.device)
        made.layer, made.steps, made.is_log = layer, steps, is_log
        return made

    def materialize(self) -> Any:
        whole = self.layer.materialize()
        with torch.set_grad_enabled(self.layer.needs_gradient):
            for step in self.steps:
                whole = step(whole)
        return whole

    def then(self, size: Any, dtype: Any, step: Callable[[Any], Any], is_log: bool = False) -> Deferred:
        return Deferred(self.layer, size, dtype, (*self.steps, step), self.is_log or is_log)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function in METADATA:
            with of_torch.without_function.get()():
                return function(*args, **kwargs)
        if isinstance(args[0] if args else None, Deferred) and args[0].layer.whole is None:
            found = _keep_deferred(args[0], function, args[1:], kwargs)
            if found is not None:
                return found
        if any(function == one for one in _OF_ITS_GRADIENT) and _is_in_a_loss((args, kwargs)):
            raise _refuse("asks for the gradient of its last layer's outputs")
        return function(*_real(args), **_real(kwargs))

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*_real(args), **_real(kwargs or {}))


def _is_in_a_loss(value: Any) -> bool:
    if isinstance(value, Deferred):
        return value.layer.is_in_a_loss
    parts = value.values() if isinstance(value, dict) else value
    return type(value) in (list, tuple, dict) and any(map(_is_in_a_loss, parts))


def _real(value: Any) -> Any:
    if isinstance(value, Deferred):
        return value.materialize()
    if isinstance(value, dict):
        return {key: _real(one) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_real(one) for one in value)
    return value


def _keep_deferred(given: Deferred, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Puts off too what keeps the rows apart; None for everything else."""
    if function in (torch.Tensor.view, torch.Tensor.reshape) and not kwargs:
        return _reshape(given, args)
    if function is torch.Tensor.contiguous and not args and not kwargs:
        return given
    if function is torch.Tensor.float and not args and not kwargs:
        return given.then(given.size(), torch.float32, lambda whole: whole.float())
    if function == torch.Tensor.requires_grad.__get__:
        return given.layer.needs_gradient
    if function in (torch.nn.functional.log_softmax, torch.log_softmax, torch.Tensor.log_softmax):
        return _log_softmax(given, function, args, kwargs)
    return None


def _reshape(given: Deferred, args: tuple[Any, ...]) -> Any:
    asked = list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list, torch.Size)) else list(args)
    if not all(isinstance(length, int) for length in asked):
        return None
    known = math.prod(length for length in asked if length != -1)
    if asked.count(-1) == 1 and known > 0:
        asked[asked.index(-1)] = given.numel() // known
    if not asked or asked[-1] != given.shape[-1] or math.prod(asked) != given.numel():
        return None
    return given.then(asked, given.dtype, lambda whole: whole.reshape(asked))


def _log_softmax(given: Deferred, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    known = ("dim", of_torch.log_softmax_level.name, "dtype")
    named = {**dict(zip(known, args)), **kwargs}
    is_plain = set(named) <= set(known) and named.get("dtype") is None and not given.is_log
    if not is_plain or named.get("dim") not in (-1, given.dim() - 1):
        return None
    dtype = torch.float32 if given.layer.autocast[0] else given.dtype
    return given.then(given.size(), dtype, lambda whole: function(whole, *args, **kwargs), is_log=True)


def is_possible() -> bool:
    return of_torch.without_function.get() is not None and of_torch.make_shell.get() is not None
