"""Fused attention, written out: softmax(scale Q K^T + bias) V and its gradient.

q, k, v: [batch, heads, length, head size]. Dropout inside the fused kernels draws from a sequence of its own that the
CPU cannot repeat; it is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from vramfit.private import operators as of_operators


def _scores(q: Tensor, k: Tensor, bias: Tensor | None, causal: bool, scale: float | None) -> Tensor:
    """[batch, heads, query length, key length] in float; -inf where a query may not look."""
    factor = 1 / math.sqrt(q.size(-1)) if scale is None else scale
    scores = _wide(q) @ _wide(_grouped(k, q)).transpose(-2, -1) * factor
    if bias is not None:
        scores = scores + bias
    if causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~allowed, -math.inf)
    return scores


def _wide(x: Tensor) -> Tensor:
    return x if x.dtype == torch.double else x.float()


def _grouped(k: Tensor, q: Tensor) -> Tensor:
    """Grouped-query attention: each key head serves several query heads."""
    return k if k.size(1) == q.size(1) else k.repeat_interleave(q.size(1) // k.size(1), 1)


def _forward(
    q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, causal: bool, scale: float | None
) -> tuple[Tensor, Tensor]:
    scores = _scores(q, k, bias, causal, scale)
    return (scores.softmax(-1) @ _wide(_grouped(v, q))).to(q.dtype), scores.logsumexp(-1)


def _backward(
    gradient: Tensor, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, causal: bool, scale: float | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    factor = 1 / math.sqrt(q.size(-1)) if scale is None else scale
    weights = _scores(q, k, bias, causal, scale).softmax(-1)
    wide = _wide(gradient)
    to_v = weights.transpose(-2, -1) @ wide
    to_weights = wide @ _wide(_grouped(v, q)).transpose(-2, -1)
    to_scores = weights * (to_weights - (to_weights * weights).sum(-1, keepdim=True))
    to_q = to_scores @ _wide(_grouped(k, q)) * factor
    to_k = to_scores.transpose(-2, -1) @ _wide(q) * factor
    return to_q, _ungrouped(to_k, k), _ungrouped(to_v, v), to_scores


def _ungrouped(gradient: Tensor, like: Tensor) -> Tensor:
    if gradient.size(1) == like.size(1):
        return gradient
    return gradient.unflatten(1, (like.size(1), -1)).sum(2)


def _padded(lse: Tensor, like: int) -> Tensor:
    """The memory-efficient kernel keeps log-sum-exp padded to `like` queries."""
    return torch.nn.functional.pad(lse, (0, like - lse.size(-1)))


def _efficient(
    q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, with_lse: bool, dropout: float = 0.0, causal: bool = False,
    *, scale: float | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    output, lse = _forward(q, k, v, bias, causal, scale)
    rows = -(-lse.size(-1) // 32) * 32  # aten/src/ATen/native/transformers/cuda/attention.cu, kAlignLSE
    return output, _padded(lse, rows) if with_lse else None, None, None


def _efficient_backward(
    gradient: Tensor, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, output: Tensor, lse: Tensor, seed: Tensor,
    offset: Tensor, dropout: float, needed: list[bool], causal: bool = False, *, scale: float | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    to_q, to_k, to_v, to_bias = _backward(gradient, q, k, v, bias, causal, scale)
    return to_q, to_k, to_v, to_bias.sum_to_size(bias.shape) if bias is not None and needed[3] else None


def _flash(
    q: Tensor, k: Tensor, v: Tensor, dropout: float = 0.0, causal: bool = False, with_mask: bool = False,
    *, scale: float | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    return (*_forward(q, k, v, None, causal, scale), None, None, None, None, None, None, None)


def _flash_backward(
    gradient: Tensor, q: Tensor, k: Tensor, v: Tensor, output: Tensor, lse: Tensor, cum_q: Tensor, cum_k: Tensor,
    max_q: int, max_k: int, dropout: float, causal: bool, seed: Tensor, offset: Tensor, *, scale: float | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    return _backward(gradient, q, k, v, None, causal, scale)[:3]


def _cudnn(
    q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, with_lse: bool, dropout: float = 0.0, causal: bool = False,
    with_mask: bool = False, *, scale: float | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    output, lse = _forward(q, k, v, bias, causal, scale)
    return output, lse.unsqueeze(-1) if with_lse else None, None, None, None, None, None, None, None


def _cudnn_backward(
    gradient: Tensor, q: Tensor, k: Tensor, v: Tensor, output: Tensor, lse: Tensor, seed: Tensor, offset: Tensor,
    bias: Tensor | None, cum_q: Tensor, cum_k: Tensor, max_q: int, max_k: int, dropout: float, causal: bool,
    *, scale: float | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    return _backward(gradient, q, k, v, bias, causal, scale)[:3]


KERNELS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        of_operators.efficient.full_name: _efficient,
        of_operators.efficient_backward.full_name: _efficient_backward,
        of_operators.flash.full_name: _flash,
        of_operators.flash_backward.full_name: _flash_backward,
        of_operators.cudnn.full_name: _cudnn,
        of_operators.cudnn_backward.full_name: _cudnn_backward,
    }
)
