"""MultiheadAttention whose weights nobody reads.

Asked for its weights (need_weights, which is what it does unless told otherwise), it writes them out. Here it is not
asked; what takes their place has a shape and no memory, and the job ends where the script reads it: that they were not
needed is then found to be wrong, never assumed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch

from vramfit.apply.tensor_metadata import METADATA
from vramfit.private import torch as of_torch

# Attributes that may be asked of them without their being read.
_OF_THE_SHELL = METADATA | {torch.Tensor.requires_grad.__get__, torch.Tensor.grad_fn.__get__}
_AS_THEY_ARE = (torch.Tensor.detach, torch.Tensor.detach_, torch.Tensor.contiguous)


class Unread(torch.Tensor):
    """Stands for weights of attention that were not written."""

    IS_SHELL = True
    when_read: Callable[[], None]

    @staticmethod
    def __new__(cls: Any, size: tuple[int, ...], like: Any, when_read: Callable[[], None]) -> Any:
        made = of_torch.make_shell.get()(cls, size, dtype=like.dtype, device=like.device)
        made.when_read = when_read
        return made

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in _OF_THE_SHELL:
            with of_torch.without_function.get()():
                return function(*args, **(kwargs or {}))
        if function in _AS_THEY_ARE and args:
            return args[0]
        return cls.__read((args, kwargs))

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls.__read((args, kwargs))

    @classmethod
    def __read(cls, given: Any) -> Any:
        found = _find(given)
        if found is not None:
            found.when_read()
        raise RuntimeError("vramfit: the script reads weights of attention that the plan does not work out")


def _find(given: Any) -> Unread | None:
    if isinstance(given, Unread):
        return given
    parts = given.values() if isinstance(given, dict) else given if isinstance(given, (list, tuple)) else ()
    return next((found for found in map(_find, parts) if found is not None), None)


def is_possible() -> bool:
    return of_torch.without_function.get() is not None and of_torch.make_shell.get() is not None


def _size_of(given: dict[str, Any]) -> tuple[int, ...]:
    """The size of the weights, as torch documents them."""
    query, key = given["query"], given["key"]
    is_batched = query.dim() == 3  # and the batch comes second
    lengths = (query.shape[0], key.shape[0])
    if given.get("static_k") is not None:
        lengths = (query.shape[0], given["static_k"].shape[1])
    added = (given.get("bias_k") is not None) + bool(given.get("add_zero_attn"))
    heads = () if given.get("average_attn_weights", True) else (given["num_heads"],)
    batch = (query.shape[1],) if is_batched else ()
    return (*batch, *heads, lengths[0], lengths[1] + added)


def _suits(given: dict[str, Any]) -> bool:
    query = given["query"]
    if not given.get("need_weights", True) or type(query) not in (torch.Tensor, torch.nn.Parameter):
        return False
    is_bare = given.get("is_causal", False) and given.get("attn_mask") is None  # torch refuses it
    return query.is_cuda and query.dim() in (2, 3) and not is_bare and not _is_traced()


def _is_traced() -> bool:
    return torch.compiler.is_compiling() or torch.jit.is_tracing()


def leave_out(functional: Any, tell: Callable[[], None], when_read: Callable[[], None]) -> None:
    original = functional.multi_head_attention_forward
    names = list(inspect.signature(original).parameters)

    @functools.wraps(original)
    def attend(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args)), **kwargs}
        if not _suits(given):
            return original(*args, **kwargs)
        tell()
        # The mask says what is_causal hints at.
        result, _ = original(**{**given, "need_weights": False, "is_causal": False})
        return result, Unread(_size_of(given), result, when_read)

    functional.multi_head_attention_forward = attend
