"""Autograd's graphs, walked from their ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def nodes_behind(ends: Iterable[Any], most: int) -> Iterator[Any]:
    """The nodes behind some grad_fns, themselves among them, each once; no more than `most`."""
    left = list(dict.fromkeys(ends))
    seen = set(left)
    count = 0
    while left and count < most:
        node = left.pop()
        count += 1
        yield node
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                left.append(following)
