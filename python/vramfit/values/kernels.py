"""CPU versions of operators that exist on CUDA only, or that take other arguments there.

Keyed by the operator's name; each takes the operator's own arguments as CPU tensors and returns its outputs. A value
that nobody reads outside the operator's own backward (a cuDNN reserve, a Philox seed) is returned as None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from vramfit.private import operators as of_operators
from vramfit.private import torch as of_torch
from vramfit.values import attention, recurrent

aten = torch.ops.aten


def _cudnn_batch_norm(
    x: Tensor, weight: Tensor, bias: Tensor | None, mean: Tensor | None, var: Tensor | None, training: bool,
    momentum: float, eps: float,
) -> tuple[Any, ...]:  # fmt: skip
    return (*aten.native_batch_norm(x, weight, bias, mean, var, training, momentum, eps), None)


def _cudnn_batch_norm_backward(
    x: Tensor, gradient: Tensor, weight: Tensor, mean: Tensor | None, var: Tensor | None, saved_mean: Tensor,
    saved_var: Tensor, eps: float, reserve: Tensor,
) -> tuple[Any, ...]:  # fmt: skip
    needed = [True, True, True]
    return aten.native_batch_norm_backward(gradient, x, weight, mean, var, saved_mean, saved_var, True, eps, needed)


def _softmax(plain: Any) -> Callable[..., Any]:
    """The card can widen half to float inside a softmax; the CPU widens before it."""

    def run(x: Tensor, dim: int, half_to_float: bool) -> Tensor:
        return plain(x.float() if half_to_float else x, dim, False)

    return run


def _softmax_backward(plain: Any) -> Callable[..., Any]:
    def run(gradient: Tensor, output: Tensor, dim: int, input_dtype: torch.dtype) -> Tensor:
        return plain(gradient, output, dim, gradient.dtype).to(input_dtype)

    return run


def _cudnn_grid_sampler(x: Tensor, grid: Tensor) -> Tensor:
    return aten.grid_sampler_2d(x, grid, 0, 0, True)  # bilinear, zeros, align_corners: all that cuDNN offers


def _fused_rms_norm(x: Tensor, shape: list[int], weight: Tensor | None, eps: float | None) -> tuple[Tensor, Tensor]:
    wide = x.float()
    inverse = (wide.pow(2).mean(_last(shape), keepdim=True) + _eps(x, eps)).rsqrt()
    output = wide * inverse
    return (output if weight is None else output * weight.float()).to(x.dtype), inverse


def _fused_rms_norm_backward(
    gradient: Tensor, x: Tensor, shape: list[int], inverse: Tensor, weight: Tensor | None, needed: list[bool]
) -> tuple[Tensor | None, Tensor | None]:
    wide, normal = gradient.float(), x.float() * inverse
    to_weight = (wide * normal).sum(tuple(range(x.dim() - len(shape)))) if needed[1] else None
    wide = wide if weight is None else wide * weight.float()
    to_x = inverse * (wide - normal * (wide * normal).mean(_last(shape), keepdim=True))
    return to_x, to_weight


def _last(shape: list[int]) -> tuple[int, ...]:
    return tuple(range(-len(shape), 0))


def _eps(x: Tensor, eps: float | None) -> float:
    return (
        torch.finfo(torch.float32 if x.dtype in (torch.half, torch.bfloat16) else x.dtype).eps if eps is None else eps
    )


KERNELS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "aten::cudnn_batch_norm": _cudnn_batch_norm,
        "aten::cudnn_batch_norm_backward": _cudnn_batch_norm_backward,
        **{
            f"aten::{name}": (_softmax_backward if "backward" in name else _softmax)(each.get())
            for name, each in of_torch.SOFTMAXES.items()
            if not each.is_gone()
        },
        "aten::cudnn_grid_sampler": _cudnn_grid_sampler,
        of_operators.rms_norm.full_name: _fused_rms_norm,
        of_operators.rms_norm_backward.full_name: _fused_rms_norm_backward,
        **attention.KERNELS,
        **recurrent.KERNELS,
    }
)
