"""Kinds of tensors of which there are more and more, whatever the rhythm: one an epoch, one every tenth step.

    step      8    13    20    31    47    71
    copies    1     2     2     3     4     6     more at each of the last three looks: kept by something
    window   16    16    16    16    16    16

Looks lie further and further apart, so that the rise shows at each of them however rarely it comes. Weights, buffers
and states are counted too: there are as many of them at every look, unless they are what grows.
"""

from __future__ import annotations

from typing import Any

from vramfit.diagnose import live_tensors

_FIRST_LOOK = 8  # steps
_LOOKS = 3  # in a row with more of a kind
_MOST_OF_A_KIND = 6  # the latest are searched


class Counts:
    def __init__(self) -> None:
        self._next = _FIRST_LOOK
        self._before: dict[live_tensors.Signature, int] = {}
        self._rises: dict[live_tensors.Signature, int] = {}

    def is_due(self, step: int) -> bool:
        return step >= self._next

    def look(self, step: int) -> list[Any]:
        """Tensors of the kinds that have grown in number at each of the last looks."""
        self._next = step * 3 // 2 + 1
        kinds: dict[live_tensors.Signature, list[Any]] = {}
        for tensor in live_tensors.find_all():
            kinds.setdefault(live_tensors.signature_of(tensor), []).append(tensor)
        growing: list[Any] = []
        for kind, tensors in kinds.items():
            rises = len(tensors) > self._before.get(kind, len(tensors))
            self._rises[kind] = self._rises.get(kind, 0) + 1 if rises else 0
            if self._rises[kind] >= _LOOKS:
                growing += tensors[-_MOST_OF_A_KIND:]
        self._before = {kind: len(tensors) for kind, tensors in kinds.items()}
        return growing
