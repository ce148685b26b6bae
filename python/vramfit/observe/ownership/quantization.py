"""Quantized weights, and what stands beside them to read them: scales, zero points, codes.

Told by what the tensors are: a weight of codes (integers, 8-bit floats) means nothing without the floats next to it,
whether these are parts of a tensor subclass, attributes of the parameter or the module, or buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vramfit.observe.ownership import storages
from vramfit.private import torch as of_torch

_INDEX_BYTES = 8  # of int64: places in a table, no packed codes


def split(weight: Any) -> tuple[list[Any], list[Any]]:
    """The plain tensors of one weight: those that hold its numbers, and those needed to read them."""
    parts = storages.parts(weight)
    if len(parts) == 1:
        return parts, []
    main = max(parts, key=lambda part: part.numel() * part.element_size())
    if not storages.is_quantized(main):
        return parts, []
    return [main], [part for part in parts if part is not main]


def beside(module: Any) -> Iterator[Any]:
    """Tensors that one module holds, outside of its registers, to read its quantized weights."""
    quantized = [
        each for each in of_torch.parameters.of(module).values() if each is not None and storages.is_quantized(each)
    ]
    if not quantized:
        return
    for weight in quantized:
        for value in list(weight.__dict__.values()):
            yield from storages.within(value)
    for name, value in list(module.__dict__.items()):
        if name not in of_torch.REGISTERS:
            yield from storages.within(value)


def packed_buffers(module: Any) -> tuple[list[Any], list[Any]]:
    """The buffer of integers that a module's weights are packed into, and the buffers needed to read it."""
    buffers = [each for each in of_torch.buffers.of(module).values() if each is not None]
    if any(each is not None and each.dim() > 1 for each in of_torch.parameters.of(module).values()):
        return [], []
    codes = [each for each in buffers if each.dim() > 1 and _may_be_codes(each)]
    if not codes or not any(each.dtype.is_floating_point and each.dtype.itemsize >= 2 for each in buffers):
        return [], []
    main = max(codes, key=storages.bytes_of)
    return [main], [each for each in buffers if each is not main]


def _may_be_codes(tensor: Any) -> bool:
    return storages.is_quantized(tensor) and str(tensor.dtype) != "torch.bool" and tensor.dtype.itemsize < _INDEX_BYTES
