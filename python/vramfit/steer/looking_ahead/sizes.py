"""How large a sample or a batch is: bytes of the arrays and lists in it. Only compared with others of its kind."""

from __future__ import annotations

from typing import Any

_MAX_NESTING = 5
_MAX_ITEMS = 100_000


def size_of(value: Any, depth: int = 0) -> int:
    """Bytes; of a list of numbers eight for each."""
    nbytes = getattr(value, "nbytes", None)
    if isinstance(nbytes, int):  # tensors and arrays
        return nbytes
    if isinstance(value, (int, float, bool)) or value is None:
        return 8
    if isinstance(value, (str, bytes)):
        return len(value)
    if depth >= _MAX_NESTING:
        return 0
    if isinstance(value, dict):
        return sum(size_of(part, depth + 1) for part in value.values())
    if isinstance(value, (list, tuple, set)):
        if value and isinstance(next(iter(value)), (int, float)):
            return 8 * len(value)
        return sum(size_of(part, depth + 1) for part in list(value)[:_MAX_ITEMS])
    picture = getattr(value, "size", None)
    if isinstance(picture, tuple) and len(picture) == 2:  # PIL
        return int(picture[0]) * int(picture[1]) * 3
    own = getattr(value, "__dict__", None)
    if isinstance(own, dict) and not isinstance(value, type):
        return sum(size_of(part, depth + 1) for part in own.values())
    return 0
