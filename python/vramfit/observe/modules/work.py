"""What an operator asks of a card, by the formulas of torch.utils.flop_counter.

The backward pass is not watched: a dispatch mode there changes how long gradients live. Its operations follow from the
forward's, by the formulas of the operators that autograd will call, for those inputs that want a gradient.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from vramfit.base import process
from vramfit.contract.numbers import Dtype
from vramfit.private import operators as of_operators
from vramfit.private import torch as of_torch

_DTYPES = MappingProxyType(
    {
        "float32": Dtype.F32,
        "float64": Dtype.F64,
        "float16": Dtype.F16,
        "bfloat16": Dtype.BF16,
        "int8": Dtype.I8,
        "uint8": Dtype.I8,
    }
)

# Which arguments are the matrices: the gradient of each is a product as large as the forward's.
_MATRICES = MappingProxyType({"aten::mm": (0, 1), "aten::addmm": (1, 2), "aten::bmm": (0, 1), "aten::baddbmm": (1, 2)})


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.formulas: dict[Any, Any] = {}  # by operator packet


_state = process.own(_State)


@dataclass
class Work:
    forward: int = 0  # floating-point operations: a multiply-add is two
    backward: int = 0
    dtype: Dtype = Dtype.OTHER
    touched_bytes: int = 0


def prepare() -> None:
    from torch.utils import flop_counter  # noqa: F401 - what is asked for next is of it

    _state.formulas.update(of_torch.flop_formulas.get() or {})


def work_of(func: Any, args: Any, kwargs: Any, out: Any, tensors: list[Any]) -> Work:
    """`tensors` are all those among arguments and results."""
    work = Work(touched_bytes=sum(t.numel() * t.element_size() for t in tensors))
    formula = _state.formulas.get(of_torch.packet.of(func))
    if formula is None or not tensors:
        return work
    work.forward = int(formula(*args, **kwargs, out_val=out))
    work.dtype = _dtype_of(tensors[-1], of_torch.name_of(func))
    if sys.modules["torch"].is_grad_enabled():
        work.backward = _backward(of_torch.name_of(func), args, out, work.forward)
    return work


def _wants_gradient(value: Any) -> bool:
    return bool(getattr(value, "requires_grad", False))


def _backward(name: str, args: Any, out: Any, forward: int) -> int:
    aten = sys.modules["torch"].ops.aten
    if name in _MATRICES:
        return forward * sum(_wants_gradient(args[place]) for place in _MATRICES[name])
    if name == "aten::convolution":
        mask = [_wants_gradient(args[0]), _wants_gradient(args[1]), False]
        formula = _state.formulas.get(aten.convolution_backward)
        if formula is None or not any(mask):
            return 0
        return int(formula(out, *args[:9], mask, out_val=(args[0], args[1], None)))
    if of_operators.attention.begins(name) and any(map(_wants_gradient, args[:3])):
        formula = _state.formulas.get(getattr(aten, name.removeprefix("aten::") + "_backward", None))
        return int(formula(out[0], *args[:3])) if formula is not None else 0
    return 0


def _dtype_of(tensor: Any, name: str) -> Dtype:
    kind = str(tensor.dtype).removeprefix("torch.")
    if kind.startswith("float8"):
        return Dtype.F8
    dtype = _DTYPES.get(kind, Dtype.OTHER)
    if dtype == Dtype.F32:
        backends = sys.modules["torch"].backends
        if backends.cudnn.allow_tf32 if "conv" in name else backends.cuda.matmul.allow_tf32:
            return Dtype.TF32
    return dtype
