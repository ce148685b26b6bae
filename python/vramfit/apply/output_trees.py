"""What a network returns as its tensors and numbers, and put together again: PyTorch's trees, and beside them data
classes and sizes, which PyTorch takes for single values."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import torch

from vramfit.private import torch as of_torch


class _Inner(NamedTuple):
    """A value of PyTorch's tree that is one itself."""

    place: int  # among the tree's own leaves
    kind: type
    names: tuple[str, ...]  # of its attributes; empty: of a size
    shape: Shape


class Shape(NamedTuple):
    """Equal for outputs of the same structure. It holds no tensor of them."""

    tree: Any
    inner: tuple[_Inner, ...]


def leaves_of(value: Any) -> tuple[list[Any], Any]:
    """Those of PyTorch's tree, and the tree. A size is one of them: put together of numbers it would be a tuple."""
    leaves, tree = of_torch.flatten_tree.get()(value, is_leaf=_is_size)
    return leaves, tree


def _is_size(value: Any) -> bool:
    return isinstance(value, torch.Size)


def flatten(value: Any) -> tuple[list[Any], Shape]:
    leaves, tree = leaves_of(value)
    flat: list[Any] = []
    inner: list[_Inner] = []
    for place, leaf in enumerate(leaves):
        names = _names_of(leaf)
        if not names and not isinstance(leaf, torch.Size):
            flat.append(leaf)
            continue
        further, shape = flatten([getattr(leaf, name) for name in names] if names else list(leaf))
        inner.append(_Inner(place, type(leaf), names, shape))
        flat += further
    return flat, Shape(tree, tuple(inner))


def unflatten(leaves: list[Any], shape: Shape) -> Any:
    return _put_together(iter(leaves), shape)


def _put_together(left: Any, shape: Shape) -> Any:
    inner = {each.place: each for each in shape.inner}
    leaves = [_made(inner[place], left) if place in inner else next(left) for place in range(shape.tree.num_leaves)]
    return of_torch.unflatten_tree.get()(leaves, shape.tree)


def _made(inner: _Inner, left: Any) -> Any:
    values = _put_together(left, inner.shape)
    if not inner.names:
        return inner.kind(values)
    made = object.__new__(inner.kind)  # its own __init__ may want something else than its fields
    for name, value in zip(inner.names, values):
        object.__setattr__(made, name, value)
    return made


def _names_of(leaf: Any) -> tuple[str, ...]:
    """The attributes of a data class's object. One that is a dictionary as well keeps more elsewhere."""
    if not dataclasses.is_dataclass(leaf) or isinstance(leaf, (type, dict, list, tuple, torch.Tensor)):
        return ()
    names = [field.name for field in dataclasses.fields(leaf)]
    return tuple(dict.fromkeys([*(name for name in names if hasattr(leaf, name)), *getattr(leaf, "__dict__", {})]))
