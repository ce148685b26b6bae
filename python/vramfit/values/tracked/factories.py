"""What is made of nothing but a shape: constants, zeros, random numbers."""

from __future__ import annotations

from typing import Any

import torch

from vramfit.values.mode import Twice
from vramfit.values.tracked.calls import MOST_ELEMENTS, MOST_RANDOM, Call, putting, tensors_in
from vramfit.values.tracked.states import KNOWN, UNKNOWN, set_state

_MOST_NORMAL = 1 << 16  # initial weights and noise: nobody's control flow


def from_shapes(call: Call) -> Any:
    """Also factories: what they make is known."""
    if call.operator.name in ("aten::zeros_like", "aten::new_zeros", "aten::zero_"):
        return _zeros(call)
    if call.operator.is_random and not _is_drawn(call, call.tensors[0].numel(), call.tensors[0].dtype):
        return call.run_on_card()
    return call.compute(KNOWN) if call.is_small() else call.run_on_card()


def factory(call: Call) -> Any:
    if call.operator.name == "aten::zeros":
        return _zeros(call)
    result = call.operator.overload(*call.args, **call.kwargs)
    size = max((output.numel() for output in tensors_in((result,), {})), default=0)
    if size > MOST_ELEMENTS:
        return result
    if call.operator.is_random and not _is_drawn(call, size, result.dtype):
        return result
    twice = Twice(call.operator, call.args, call.kwargs, putting(KNOWN))
    values = twice.try_on_host()
    return result if values is None else twice.bring_together(result, values)


def _zeros(call: Call) -> Any:
    """Memory that nobody wrote reads as zeros: known at no cost, at any size."""
    result = call.run_on_card()
    if result.is_cuda and result.layout == torch.strided:
        set_state(result, UNKNOWN)
        set_state(result, KNOWN)
    return result


def _is_drawn(call: Call, size: int, dtype: torch.dtype) -> bool:
    """Random numbers that may steer: whole ones, and uniform ones that are few."""
    if torch.cuda.is_current_stream_capturing():
        return False
    name = call.operator.name
    is_normal = "normal" in name or "randn" in name
    return size <= (_MOST_NORMAL if is_normal and dtype.is_floating_point else MOST_RANDOM)
