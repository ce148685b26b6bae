"""A tensor of the virtual card seen from the host: the same bytes, as a CPU tensor."""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from vramfit import values
from vramfit.base import process
from vramfit.contract import asked
from vramfit.private import torch as of_torch
from vramfit.values.operator_facts import OperatorFacts


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
    shape, strides = tensor.shape, tensor.stride()
    last = sum((size - 1) * stride for size, stride in zip(shape, strides))
    seen = _elements(address, last + 1, tensor.dtype).as_strided(shape, strides)
    if tensor.is_conj():
        seen = seen.conj()
    return of_torch.negative_view(seen) if tensor.is_neg() else seen


def contents(tensor: torch.Tensor) -> torch.Tensor:
    """The values of a tensor on the host: where they are computed, the very bytes, and without an operator."""
    is_seen = (
        tensor.is_cuda and values.policy() == asked.VALUES_CPU and type(tensor) in (torch.Tensor, torch.nn.Parameter)
    )
    return over_same_bytes(tensor) if is_seen and is_plain(tensor) else tensor.cpu()


@process.cached(4096)  # the allocator gives the same blocks again and again
def _elements(address: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    raw = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return torch.frombuffer(raw, dtype=torch.uint8).view(dtype)


def written_by(facts: OperatorFacts, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """The tensors that an operator writes in place, as its schema has it."""
    found: list[torch.Tensor] = []
    for position, name in facts.writes:
        value = args[position] if position < len(args) else kwargs.get(name)
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(one, torch.Tensor):
                found.append(one)
    return found
