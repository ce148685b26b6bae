"""A tensor of the virtual card seen from the host: the same bytes, as a CPU tensor."""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from vramfit.base import process
from vramfit.private import torch as of_torch


def is_plain(tensor: torch.Tensor) -> bool:
    """True when the tensor is a strided view of one storage, which is all that can be seen from the host."""
    return tensor.layout == torch.strided and not tensor.is_quantized


def over_same_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """A CPU tensor over the very bytes of `tensor`: same shape, strides and type. No copy is made.

    The storage isn't asked: PyTorch would make an object of Python's for it, which counts as one more owner from 2.10
    on, and autograd adds up in place only into a gradient whose storage has one.
    """
    if tensor.numel() == 0 or (address := tensor.data_ptr()) == 0:
        return torch.empty(tensor.shape, dtype=tensor.dtype)
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    seen = _elements(address, last + 1, tensor.dtype).as_strided(tensor.shape, tensor.stride())
    if tensor.is_conj():
        seen = seen.conj()
    return of_torch.negative_view(seen) if tensor.is_neg() else seen


@process.cached(4096)  # the allocator gives the same blocks again and again
def _elements(address: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    raw = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return torch.frombuffer(raw, dtype=torch.uint8).view(dtype)


def written_by(operator: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """The tensors that an operator writes in place, as its schema has it."""
    found: list[torch.Tensor] = []
    for position, argument in enumerate(of_torch.arguments_of(operator)):
        if not argument.is_written:
            continue
        value = args[position] if position < len(args) else kwargs.get(argument.name)
        found.extend(leaf for leaf in of_torch.flatten_tree(value)[0] if isinstance(leaf, torch.Tensor))
    return found
