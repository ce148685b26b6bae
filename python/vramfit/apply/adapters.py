"""Linear layers whose weights stand still beside adapters of low rank: y = W x + b + scale * B (A x), arXiv 2106.09685.

A layer gets a class of its own, in which `weight` is the sum of both, made when somebody reads it. So code that
computes with `layer.weight` itself computes what the layer does; and so state_dict(), pickles and copies hold the plain
layer with that sum, which loads where there are no adapters. Weights may be held in half the bytes, those
beside adapters in 4 bits with a scale for each group of a row (int4_weights.py; as QLoRA, arXiv 2305.14314, on levels
that are evenly spaced): they are made into the type that the script computes in for each product, one layer at a time,
in backward too.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from vramfit.apply import int4_weights
from vramfit.base import process
from vramfit.observe.linear_layers import is_transposed
from vramfit.private import torch as of_torch

_PROTOCOL = 1  # later ones check that an object's class is the one in its pickle
_FROZEN, _SCALE, _A, _B = "weight_frozen", "weight_scale", "lora_a", "lora_b"


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.classes: dict[tuple[type, str], type] = {}
        self.product: Any = None  # the class of autograd's function, made once torch is there


_state = process.own(_State)


def _product(torch: Any) -> Any:
    if _state.product is None:
        _state.product = _product_class(torch)
    return _state.product


def _product_class(torch: Any) -> Any:
    linear = torch.nn.functional.linear

    class Frozen(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """A product with a weight that stands still: what is kept for backward is the weight as it is held."""

        @staticmethod
        def forward(ctx: Any, input: Any, weight: Any, scale: Any, bias: Any, transposed: bool) -> Any:
            ctx.save_for_backward(weight, scale)
            ctx.transposed = transposed
            whole = _numbers(weight, scale, input.dtype)
            return linear(input, whole.t() if transposed else whole, bias)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, gradient: Any) -> Any:
            weight, scale = ctx.saved_tensors
            whole = _numbers(weight, scale, gradient.dtype)
            return gradient @ (whole.t() if ctx.transposed else whole), None, None, None, None

    return Frozen


def _numbers(weight: Any, scale: Any, dtype: Any) -> Any:
    """A weight as a product takes it; `scale` of one in 4 bits."""
    return weight.to(dtype) if scale is None else int4_weights.make(weight, scale.to(dtype))


def _as_computed(torch: Any, input: Any) -> Any:
    """Casts it to autocast's type, once: each product would make a copy of its own."""
    kind = input.device.type
    if input.is_floating_point() and torch.is_autocast_enabled(kind):
        return input.to(torch.get_autocast_dtype(kind))
    return input


def _multiply(torch: Any, layer: Any, weight: Any, input: Any) -> Any:
    bias, scale = layer.bias, getattr(layer, _SCALE, None)
    if bias is not None and bias.requires_grad:  # of a layer that is not adapted
        return _product(torch).apply(input, weight, scale, None, is_transposed_kind(layer)) + bias
    bias = None if bias is None else bias.to(input.dtype)
    return _product(torch).apply(input, weight, scale, bias, is_transposed_kind(layer))


def is_transposed_kind(layer: Any) -> bool:
    return bool(type(layer).vramfit_transposed)


def _class_of(kind: type, role: str, make: Any) -> type:
    if (kind, role) not in _state.classes:
        _state.classes[kind, role] = type(kind.__name__, (kind,), {**make(kind), "__module__": kind.__module__})
    return _state.classes[kind, role]


# -- with adapters


def adapt(torch: Any, layer: Any, rank: int, scale: float, seed: int) -> tuple[Any, Any]:
    """Gives the layer its adapters, which are returned. They begin with a sum of zero, and draw from a generator of
    their own: the script's random numbers are what they were."""
    transposed = is_transposed(layer)
    weight, bias = layer.weight, layer.bias
    rows, columns = reversed(weight.shape) if transposed else weight.shape
    generator = torch.Generator().manual_seed(seed)
    bound = 1 / math.sqrt(columns)  # kaiming_uniform_(a=sqrt(5)), as nn.Linear draws its own
    first = torch.empty(rank, columns).uniform_(-bound, bound, generator=generator)
    kind = torch.float32 if weight.dtype in (torch.float16, torch.bfloat16) else weight.dtype
    parameter = torch.nn.Parameter
    made = (
        parameter(first.to(weight.device, kind)),
        parameter(torch.zeros(rows, rank, dtype=kind, device=weight.device)),
    )
    for name in ("weight", "bias"):
        delattr(layer, name)
    layer.vramfit_scale, layer.vramfit_dtype = scale, weight.dtype
    # This order: whoever pairs parameters with those of a plain layer meets two of different shapes.
    for name, one in ((_FROZEN, weight), (_A, made[0]), (_B, made[1]), ("bias", bias)):
        layer.register_parameter(name, one)
    layer.__class__ = _class_of(type(layer), "adapted", functools.partial(_adapted, torch, transposed))
    layer.register_load_state_dict_pre_hook(_load_plain)
    return made


def _adapted(torch: Any, transposed: bool, kind: type) -> dict[str, Any]:
    linear = torch.nn.functional.linear

    def forward(self: Any, input: Any) -> Any:
        input = _as_computed(torch, input)
        first, second = self.lora_a.to(input.dtype), self.lora_b.to(input.dtype)
        sum_so_far = _multiply(torch, self, self.weight_frozen, input)
        thin = linear(input, first).flatten(0, -2) if input.dim() > 1 else linear(input, first)[None]
        flat = sum_so_far.reshape(-1, sum_so_far.shape[-1])
        return torch.addmm(flat, thin, second.t(), alpha=self.vramfit_scale).view(sum_so_far.shape)

    def weight(self: Any) -> Any:
        delta = (self.lora_b @ self.lora_a) * self.vramfit_scale
        whole = _numbers(self.weight_frozen, getattr(self, _SCALE, None), delta.dtype)
        return (whole + (delta.t() if transposed else delta)).to(self.vramfit_dtype)

    def state_dict(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = kind.state_dict(self, *args, **kwargs)  # type: ignore[attr-defined]
        prefix = kwargs.get("prefix", "")
        parts = (_FROZEN, _SCALE, _A, _B, "bias")
        own = {name: result.pop(prefix + name) for name in parts if prefix + name in result}
        with torch.no_grad():
            result[prefix + "weight"] = self.weight.detach().cpu()
        if "bias" in own:
            result[prefix + "bias"] = own["bias"]
        return result

    def reduce_ex(self: Any, protocol: Any) -> Any:
        return _plain(torch, kind, self).__reduce_ex__(_PROTOCOL)

    own = {"forward": forward, "weight": property(weight), "state_dict": state_dict, "__reduce_ex__": reduce_ex}
    return {**own, "vramfit_transposed": transposed}


def _plain(torch: Any, kind: type, layer: Any) -> Any:
    """The layer without adapters, as a pickle or a copy has it."""
    plain = _blank(torch, kind, layer)
    plain.register_parameter("weight", torch.nn.Parameter(layer.weight.detach()))
    plain.register_parameter("bias", layer.bias)
    return plain


def _blank(torch: Any, kind: type, layer: Any) -> Any:
    """All of a layer but its parameters, and what is put there for adapters."""
    plain: Any = object.__new__(kind)
    torch.nn.Module.__init__(plain)
    own = {name for name in vars(layer) if name.startswith("vramfit_")} | {of_torch.parameters.name}
    own.update(name for name in vars(layer) if "load_state_dict_pre" in name)
    vars(plain).update({name: value for name, value in vars(layer).items() if name not in own})
    return plain


def _load_plain(layer: Any, state_dict: Any, prefix: str, *_: Any) -> None:
    """A checkpoint of the plain layer: its weight stands still from now on, and new adapters begin at zero."""
    weight = state_dict.pop(prefix + "weight", None)
    if weight is None:
        return
    if hasattr(layer, _SCALE):
        weight, state_dict[prefix + _SCALE] = int4_weights.quantize(weight.to(layer.weight_scale.dtype))
    state_dict[prefix + _FROZEN] = weight
    state_dict[prefix + _A] = layer.lora_a.detach()
    state_dict[prefix + _B] = layer.lora_b.detach() * 0


# -- held in fewer bits


def hold_in_4_bits(torch: Any, layer: Any) -> bool:
    """The weight of a layer with adapters; False where its rows have no group of numbers that fits."""
    frozen = layer.weight_frozen
    if not int4_weights.can_quantize(frozen):
        return False
    codes, scale = int4_weights.quantize(frozen.detach())
    frozen.data = codes  # whoever knows the parameter keeps nothing of what it was
    layer.register_parameter(_SCALE, torch.nn.Parameter(scale, requires_grad=False))
    return True


def hold(torch: Any, layer: Any, dtype: Any) -> None:
    """Its weight, which stands still, in half the bytes; what the layer puts out stays of the type it was."""
    is_adapted = hasattr(layer, _FROZEN)
    weight = layer.weight_frozen if is_adapted else layer.weight
    before = torch.float32 if weight.dtype == dtype else weight.dtype  # a weight that layers share is held already
    weight.data = weight.data.to(dtype)
    if is_adapted:
        return
    role = f"held, {before}"
    if isinstance(layer, torch.nn.Embedding):
        layer.__class__ = _class_of(type(layer), role, functools.partial(_held_embedding, torch, before))
    else:
        layer.__class__ = _class_of(type(layer), role, functools.partial(_held_linear, torch, before))


def _held_embedding(torch: Any, dtype: Any, kind: type) -> dict[str, Any]:
    def forward(self: Any, input: Any) -> Any:
        return kind.forward(self, input).to(dtype)  # type: ignore[attr-defined]

    return {"forward": forward, "__reduce_ex__": _as_kind(torch, kind, dtype)}


def _held_linear(torch: Any, dtype: Any, kind: type) -> dict[str, Any]:
    def forward(self: Any, input: Any) -> Any:
        return _multiply(torch, self, self.weight, _as_computed(torch, input))

    own = {"forward": forward, "__reduce_ex__": _as_kind(torch, kind, dtype)}
    return {**own, "vramfit_transposed": kind is not torch.nn.Linear}


def _as_kind(torch: Any, kind: type, dtype: Any) -> Any:
    """A pickle or a copy is an ordinary layer, whose weight is of the type that it was of."""

    def reduce_ex(self: Any, protocol: Any) -> Any:
        plain = _blank(torch, kind, self)
        plain.register_parameter("weight", torch.nn.Parameter(self.weight.detach().to(dtype), requires_grad=False))
        if hasattr(self, "bias"):
            plain.register_parameter("bias", self.bias)
        return plain.__reduce_ex__(_PROTOCOL)

    return reduce_ex
