"""Rivals that choose what a chain of blocks runs again, on the same figures as vramfit's solver: bytes and seconds.

A block holds `freed + output` bytes from its forward to its backward, `output` of them when it is run again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

INFINITE = float("inf")


@dataclass(frozen=True)
class Stage:
    """One block of a chain. Bytes are above what the card holds beside the chain's activations."""

    forward: float  # seconds
    backward: float
    held: int  # its activations with its output
    output: int
    forward_extra: int  # above those, while it runs
    backward_extra: int


def every(step: dict[str, Any], blocks: list[int]) -> list[int]:
    return blocks


def every_root(step: dict[str, Any], blocks: list[int]) -> list[int]:
    """All but one of each sqrt(n): Chen's segments as a script with unmodified blocks can have them."""
    segment = max(1, round(math.sqrt(len(blocks))))
    return [block for place, block in enumerate(blocks) if place % segment]


def greedy(step: dict[str, Any], blocks: list[int], budget: int, peak: Any) -> list[int] | None:
    """By bytes freed for seconds repeated, until it fits: what vramfit did before."""
    order = sorted(blocks, key=lambda block: -step["modules"][block]["freed"] / step["costs"][block])
    for count in range(len(order) + 1):
        if peak(order[:count]) <= budget:
            return order[:count]
    return None


def rotor(stages: list[Stage], budget: int, slots: int = 500) -> float | None:
    """Seconds repeated by Rotor's dynamic program (Herrmann et al., arXiv 1911.13214, theorem 1); None: does not fit.

    cost(s, t, m): stages s to t, forward and backward, with m slots free and the input of s held by somebody else.
    Either s keeps all that its backward wants, or a later stage's input is kept and s to there is run again.
    """
    unit = max(1, math.ceil(budget / slots))

    def size(count: int) -> int:
        return math.ceil(count / unit)

    last = len(stages) - 1
    forwards = [0.0]
    for stage in stages:
        forwards.append(forwards[-1] + stage.forward)

    def alone(at: int) -> int:
        stage = stages[at]
        return max(size(stage.held + stage.forward_extra), size(stage.held + stage.backward_extra))

    @cache
    def walk(begin: int, end: int) -> int:
        """Slots to run forward from `begin` to before `end`, keeping nothing on the way."""
        most = 0
        for at in range(begin, end):
            most = max(
                most,
                size(stages[at].held + stages[at].forward_extra) + (size(stages[at - 1].output) if at > begin else 0),
            )
        return most

    @cache
    def cost(begin: int, end: int, free: int) -> float:
        stage = stages[begin]
        least = INFINITE
        if alone(begin) <= free:
            if begin == end:
                return 0.0
            if free >= size(stage.held):
                least = cost(begin + 1, end, free - size(stage.held))
        if begin == end:
            return least
        for kept in range(begin + 1, end + 1):
            if walk(begin, kept) > free:
                break
            left = free - size(stages[kept - 1].output)
            if left < 0:
                continue
            right = cost(kept, end, left)
            if right >= least:
                continue
            again = forwards[kept] - forwards[begin]
            least = min(least, again + right + cost(begin, kept - 1, free))
        return least

    found = cost(0, last, size(budget) if budget % unit == 0 else budget // unit)
    return None if found == INFINITE else found
