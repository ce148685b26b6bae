"""Arguments and results of an operator as one list of leaves, and back: as torch.utils._pytree does it, for what is not
nested without its walk."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

from vramfit.private import torch as of_torch
from vramfit.private.names import need

need(of_torch.flatten_tree, of_torch.unflatten_tree)


class _Call(NamedTuple):
    """`(args, kwargs)` of which none holds others."""

    given: int  # by position
    names: tuple[str, ...]


_ONE = object()  # the leaf itself
_PLAIN = frozenset((int, float, bool, str, type(None)))

_flatten_tree, _unflatten_tree = of_torch.flatten_tree.get(), of_torch.unflatten_tree.get()


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of `tree`, and what `unflatten` makes it of again. Lists of sizes may stay as they are."""
    if isinstance(tree, Tensor):
        return [tree], _ONE
    if type(tree) is tuple and len(tree) == 2 and type(tree[0]) is tuple and type(tree[1]) is dict:
        args, kwargs = tree
        leaves = [*args, *kwargs.values()]
        if all(map(_is_leaf, leaves)):
            return leaves, _Call(len(args), tuple(kwargs))
    leaves, shape = _flatten_tree(tree)
    return leaves, shape


def unflatten(leaves: list[Any], shape: Any) -> Any:
    if shape is _ONE:
        return leaves[0]
    if type(shape) is _Call:
        return tuple(leaves[: shape.given]), dict(zip(shape.names, leaves[shape.given :]))
    return _unflatten_tree(leaves, shape)


def _is_leaf(value: Any) -> bool:
    kind = type(value)
    if kind is Tensor or kind in _PLAIN:
        return True
    if isinstance(value, (list, tuple)):
        return all(type(each) in _PLAIN for each in value)
    return not isinstance(value, dict)
