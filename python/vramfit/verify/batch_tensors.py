"""The tensors of a batch, in whatever containers a loader gives them, and the same batch with others in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def named_tensors(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Each with the key under which it is kept; empty where it has none."""
    if hasattr(value, "untyped_storage"):
        yield name, value
    elif isinstance(value, dict) or hasattr(value, "items"):
        for key, item in value.items():
            yield from named_tensors(item, str(key))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from named_tensors(item, name)


def is_whole(tensor: Any) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex())


def every_nth(tensor: Any, dim: int, step: int) -> Any:
    return tensor[(slice(None),) * dim + (slice(None, None, step),)] if step > 1 else tensor


def exchanged(value: Any, exchange: Callable[[Any], Any]) -> Any:
    if hasattr(value, "untyped_storage"):
        return exchange(value)
    if isinstance(value, dict) or hasattr(value, "items"):
        other = {key: exchanged(item, exchange) for key, item in value.items()}
        try:
            return type(value)(other)  # transformers' BatchEncoding takes a dict too
        except TypeError:
            return other
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(exchanged(item, exchange) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(exchanged(item, exchange) for item in value)
    return value
