"""A batch delivered again: the tensors are the same, the containers around them new, the last batch as short as it is.

A script may change what it is given (`batch.pop("labels")`), so each delivery gets lists and dicts of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def again(loader: Any, batch: Any, delivered: int) -> Any:
    """The batch that follows `delivered` others in a pass over `loader`."""
    size, samples = getattr(loader, "batch_size", None), _samples(loader)
    if not size or samples is None or getattr(loader, "drop_last", False):
        return containers_of(batch)
    left = samples - delivered * size
    return first_of(batch, size, left) if 0 < left < size else containers_of(batch)


def containers_of(batch: Any) -> Any:
    """The batch in new lists, tuples and dicts."""
    return _rebuilt(batch, lambda leaf: leaf)


def views_of(batch: Any) -> Any:
    """The batch in new containers and new tensors over the same memory: a script may move those it was given."""
    return _rebuilt(batch, lambda leaf: leaf.detach() if hasattr(leaf, "detach") else leaf)


def outline(batch: Any) -> Any:
    """Equal for batches of one shape. None for one that may not be given twice: it holds objects that a script may
    change in place, or tensors that are on a card already."""
    kind = type(batch)
    if batch is None or kind in (str, bytes, int, float, bool):
        return kind
    if kind.__module__ == "torch" and hasattr(batch, "untyped_storage"):
        is_plain = not batch.is_cuda and not batch.requires_grad
        return (batch.dtype, batch.layout, tuple(batch.shape)) if is_plain else None
    if kind is dict:
        parts = [(key, outline(part)) for key, part in batch.items()]
        return None if any(part is None for _, part in parts) else (kind, tuple(parts))
    if kind in (list, tuple) or isinstance(batch, tuple) and hasattr(batch, "_fields"):
        inner = tuple(map(outline, batch))
        return None if None in inner else (kind, inner)
    return None


def first_of(batch: Any, size: int, count: int) -> Any:
    """The first `count` samples of a batch of `size`: of its tensors, and of lists of other things."""

    def cut(leaf: Any) -> Any:
        shape = getattr(leaf, "shape", None)
        return leaf[:count] if shape and shape[0] == size else leaf

    return _rebuilt(batch, cut, size, count)


def _rebuilt(value: Any, leaf: Callable[[Any], Any], size: int = -1, count: int = 0) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_rebuilt(part, leaf, size, count) for part in value))
    if type(value) in (list, tuple):
        parts = [_rebuilt(part, leaf, size, count) for part in value]
        is_column = len(parts) == size and all(getattr(part, "shape", None) is None for part in parts)
        return type(value)(parts[:count] if is_column else parts)
    if type(value) is dict:
        return {key: _rebuilt(part, leaf, size, count) for key, part in value.items()}
    return leaf(value)


def _samples(loader: Any) -> int | None:
    """How many samples a pass goes through: of this rank, where a sampler shares the data out."""
    try:
        return len(loader.sampler)
    except (TypeError, NotImplementedError, AttributeError):
        return None
