"""Calls of scaled_dot_product_attention that no fused kernel takes, brought into a shape that one takes.

    three dimensions                        a head of one, which the result loses again
    heads of a length that kernels refuse   zeros behind queries, keys and values: they add nothing to a product
    strided along the last dimension        contiguous
    fewer heads of keys (enable_gqa)        each as often as it is used, as the unfused way has it, too
    kernels that the script switched off    switched on for the call

All of it is exact; a fused kernel adds up in another order, and draws dropout from another place of the random stream.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch

from vramfit.private import torch as of_torch

_MATH = 0  # of torch.nn.attention.SDPBackend
_ALIGNED = 8  # numbers: 16 bytes in half precision


class Call(NamedTuple):
    """The arguments of torch.nn.functional.scaled_dot_product_attention, by their names."""

    query: Any
    key: Any
    value: Any
    attn_mask: Any = None
    dropout_p: float = 0.0
    is_causal: bool = False
    scale: float | None = None
    enable_gqa: bool = False

    def falls_to_math(self) -> bool:
        chosen = of_torch.fused_attention(*self[:6], scale=self.scale, enable_gqa=self.enable_gqa)
        return chosen is not None and int(chosen) == _MATH


def can_be_asked(call: Call) -> bool:
    """Whether it is plain attention on a card, in a type that fused kernels know."""
    given = call[:3]
    if not all(type(one) in (torch.Tensor, torch.nn.Parameter) and one.is_cuda for one in given):
        return False
    if any(one.is_nested or one.dim() not in (3, 4) or one.dim() != call.query.dim() for one in given):
        return False
    is_known = call.query.dtype in (torch.float32, torch.float16, torch.bfloat16)
    return is_known and call.query.shape[-2] > 1 and not torch.are_deterministic_algorithms_enabled()


def under_autocast(call: Call) -> Call:
    """The call as autocast would cast it."""
    if not torch.is_autocast_enabled():
        return call
    dtype = torch.get_autocast_gpu_dtype()
    mask = call.attn_mask
    if mask is not None and mask.is_floating_point():
        mask = mask.to(dtype)
    return call._replace(query=call.query.to(dtype), key=call.key.to(dtype), value=call.value.to(dtype), attn_mask=mask)


def _padded(tensor: Any) -> Any:
    missing = -tensor.shape[-1] % _ALIGNED
    if missing:
        return torch.nn.functional.pad(tensor, (0, missing))
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def _with_heads(call: Call) -> Call | None:
    """A mask of a batch belongs to the batch, not to heads."""
    if call.query.dim() == 4:
        return call
    if len({one.shape[0] for one in call[:3]}) != 1:
        return None
    mask = call.attn_mask
    if mask is not None and mask.dim() == 3:
        mask = mask.unsqueeze(1)
    query, key, value = (one.unsqueeze(1) for one in call[:3])
    return call._replace(query=query, key=key, value=value, attn_mask=mask)


def _repeated(call: Call) -> Call:
    heads, groups = call.query.shape[1], call.key.shape[1]
    if not call.enable_gqa or heads == groups or heads % groups:
        return call
    key, value = (one.repeat_interleave(heads // groups, 1) for one in (call.key, call.value))
    return call._replace(key=key, value=value, enable_gqa=False)


def shaped(call: Call) -> Call | None:
    """The same attention in the shape that fused kernels take."""
    with_heads = _with_heads(call)
    if with_heads is None:
        return None
    repeated = _repeated(with_heads)
    scale = call.scale if call.scale is not None else 1 / math.sqrt(call.query.shape[-1])
    query, key, value = map(_padded, repeated[:3])
    return repeated._replace(query=query, key=key, value=value, scale=scale)


def _fused_alone() -> Any:
    attention = torch.nn.attention
    return attention.sdpa_kernel([attention.SDPBackend.FLASH_ATTENTION, attention.SDPBackend.EFFICIENT_ATTENTION])


def fuse(call: Call, original: Callable[..., Any]) -> Any:
    """The result of a fused kernel; None where none takes it."""
    changed = shaped(call)
    if changed is None:
        return None
    is_off = changed.falls_to_math()
    with _fused_alone() if is_off else nullcontext():
        if is_off and changed.falls_to_math():
            return None
        result = original(*changed[:6], scale=changed.scale, enable_gqa=changed.enable_gqa)
    result = result[..., : call.value.shape[-1]]
    return result.squeeze(1) if call.query.dim() == 3 else result
