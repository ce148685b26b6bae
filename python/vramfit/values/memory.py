"""A tensor of the virtual card seen from the host: the same bytes, as a CPU tensor."""

from __future__ import annotations

import ctypes
import functools

import torch

from vramfit.private import torch as of_torch


def is_plain(tensor: torch.Tensor) -> bool:
    """True when the tensor is a strided view of one storage, which is all that can be seen from the host."""
    return tensor.layout == torch.strided and not tensor.is_quantized


def over_same_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """A CPU tensor over the very bytes of `tensor`: same shape, strides and type. No copy is made."""
    storage = tensor.untyped_storage()
    size = storage.nbytes()
    if size == 0 or tensor.numel() == 0:
        return torch.empty(tensor.shape, dtype=tensor.dtype)
    flat = _whole_storage(storage.data_ptr(), size, tensor.dtype)
    seen = flat.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    if tensor.is_conj():
        seen = seen.conj()
    return of_torch.negative_view(seen) if tensor.is_neg() else seen


@functools.lru_cache(maxsize=4096)  # the allocator gives the same blocks again and again
def _whole_storage(address: int, size: int, dtype: torch.dtype) -> torch.Tensor:
    raw = (ctypes.c_char * size).from_address(address)
    return torch.frombuffer(raw, dtype=torch.uint8, count=size // dtype.itemsize * dtype.itemsize).view(dtype)
