"""Keeps torch.Tensor what it is to C: a mapping, not a sequence.

A class that is given a `__getitem__` in Python becomes a sequence as well (`sq_item`), and PyTorch treats what it finds
in lists by that: `torch.tensor([loss, 5])` would ask the 0-d tensor `loss` for its length. So the two slots that came
with the replacement are emptied again, in the class and in those derived from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vramfit.private import python_layout


def is_possible() -> bool:
    """Whether this interpreter keeps the slots where they are emptied."""
    return not python_layout.sequence.is_gone()


def restore(tensor: Any) -> None:
    """Called after `__getitem__` and `__setitem__` of the class were replaced."""

    def made(kind: Any, **options: Any) -> None:
        super(tensor, kind).__init_subclass__(**options)
        _empty(kind, tensor)

    for kind in _with_derived(tensor):
        _empty(kind, tensor)
    tensor.__init_subclass__ = classmethod(made)


def forget(tensor: Any) -> None:
    """Called before they are put back."""
    if "__init_subclass__" in vars(tensor):
        del tensor.__init_subclass__


def _with_derived(kind: type) -> Iterator[type]:
    yield kind
    for derived in type.__subclasses__(kind):
        yield from _with_derived(derived)


def _empty(kind: type, tensor: type) -> None:
    if next(base for base in kind.__mro__ if "__getitem__" in vars(base)) is not tensor:
        return  # one that indexes by itself is a sequence of its own right
    python_layout.empty_sequence(kind)
