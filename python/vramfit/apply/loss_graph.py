"""Autograd's graph under a loss: shapes, what is the same for each number, and whose numbers they are."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from vramfit.private import torch as of_torch

_MOST_BELOW = 64  # nodes that are looked at for a mask
_MOST_OF_PARAMETERS = 512
_WRAPPED = 1 << 63  # dimensions below zero are told as unsigned numbers
_LEAF = "torch::autograd::AccumulateGrad"
# Where a layer takes what comes from the layers below: a loss ends there.
LAYERS = ("Addmm", "Mm", "Bmm", "Baddbmm", "Linear", "Convolution", "Embedding", "Native", "Cudnn", "Checkpoint")
_KINDS = MappingProxyType(
    {"torch.int64": ctypes.c_int64, "torch.float64": ctypes.c_double, "torch.bool": ctypes.c_bool}
)
_CHOOSING = ("Embedding", "Index", "Gather", "MaskedSelect")  # by what the data are


def kind_of(node: Any) -> str:
    return str(node.name()).partition("Backward")[0]


def children_of(node: Any) -> list[Any]:
    return [child for child, _ in node.next_functions if child is not None]


def shape_of(node: Any) -> tuple[int, ...]:
    """The shape of what its forward put out; (0,) for a weight given to the loss as it is: it stands for no output."""
    metadata = of_torch.input_metadata.of(node)
    return tuple(int(length) for length in metadata[0].shape) if metadata else (0,)


def count_of(node: Any) -> int:
    return math.prod(shape_of(node))


def elementwise_below(node: Any) -> Iterator[Any]:
    """The nodes below that have as many numbers, down to the first of others: those are looked at too."""
    waiting, seen = [node], {node}
    count = count_of(node)
    while waiting and len(seen) < _MOST_BELOW:
        each = waiting.pop()
        yield each
        for child in children_of(each):
            if child not in seen and count_of(child) == count:
                seen.add(child)
                waiting.append(child)


def of_loss_below(node: Any) -> Iterator[Any]:
    """Those of them that come before any layer, and what they are made of."""
    waiting, seen = [node], {node}
    while waiting and len(seen) < _MOST_BELOW:
        each = waiting.pop()
        yield each
        if kind_of(each).startswith(LAYERS) or each.name() == _LEAF or count_of(each) != count_of(node):
            continue
        for child in children_of(each):
            if child not in seen:
                seen.add(child)
                waiting.append(child)


def reduced_of(node: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions that a sum or mean was taken over, and the shape that it was given."""
    given = shape_of(children_of(node)[0])
    saved = of_torch.saved_dim.of(node, None)
    dims = saved if isinstance(saved, (tuple, list)) else ()
    return tuple(signed(dim) % max(len(given), 1) for dim in dims) or tuple(range(len(given))), given


def signed(dim: int) -> int:
    return dim - 2 * _WRAPPED if dim >= _WRAPPED else dim


def is_of_parameters(node: Any) -> bool:
    """Whether it is made of weights alone, whatever the batch is: a penalty, a prior.

    Data enter where there is no gradient for an operand that changes the number of elements, or that chooses some."""
    waiting, seen = [node], {node}
    while waiting:
        each = waiting.pop()
        if each.name() == _LEAF:
            if not any(kind.__name__ == "Parameter" for kind in type(each.variable).__mro__):
                return False
            continue
        children = children_of(each)
        changes = any(count_of(child) != count_of(each) for child in children)
        has_data = len(children) < len(each.next_functions) and changes
        if has_data or not children or kind_of(each).startswith(_CHOOSING) or len(seen) > _MOST_OF_PARAMETERS:
            return False
        waiting += [child for child in children if child not in seen]
        seen.update(children)
    return True


def chooses(node: Any) -> bool:
    name = node.name()
    if name.startswith("MaskedSelect"):
        return True
    indices = of_torch.saved_indices.of(node) if name.startswith("IndexBackward") else None
    return any(str(index.dtype) in ("torch.bool", "torch.uint8") for index in indices or () if index is not None)


def divisor_of(node: Any) -> Any:
    """A number, or a tensor."""
    return value_of(of_torch.saved_other.of(node))


def value_of(other: Any) -> Any:
    """A number, or a tensor: on the card, or of several."""
    if hasattr(other, "numel") and other.numel() != 1:
        return other.detach()
    if not hasattr(other, "dim"):
        return math.nan if other is None else float(other)
    if other.is_cuda:
        return other.detach().reshape(())
    # A number of Python's that stands in for a tensor has no item() while somebody looks at every operator.
    kind = _KINDS.get(str(other.dtype))
    return float(kind.from_address(other.data_ptr()).value if kind is not None else other.item())  # type: ignore[attr-defined]
