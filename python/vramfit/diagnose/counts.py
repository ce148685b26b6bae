"""Kinds of tensors of which there are more and more, whatever the rhythm: one an epoch, one every tenth step.

    step      8    13    20    31    47    71
    copies    1     2     2     3     4     6     more at each of the last three looks: kept by something
    window   16    16    16    16    16    16

Where no shape comes twice (sentences of any length), tensors of as many dimensions and of one type are a kind.
Looks lie further and further apart, so that the rise shows at each of them however rarely it comes. Weights, buffers
and states are counted too: there are as many of them at every look, unless they are what grows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from vramfit.diagnose import live_tensors

_FIRST_LOOK = 8  # steps
_LOOKS = 3  # in a row with more of a kind
_MOST_OF_A_KIND = 6  # the latest are searched

Kind = TypeVar("Kind", bound=Hashable)


class _Rises(Generic[Kind]):
    def __init__(self) -> None:
        self._before: dict[Kind, int] = {}
        self._in_a_row: dict[Kind, int] = {}

    def look(self, tensors: list[Any], kind_of: Callable[[Any], Kind]) -> list[Any]:
        """The latest of each kind that has grown in number at each of the last looks."""
        kinds: dict[Kind, list[Any]] = {}
        for tensor in tensors:
            kinds.setdefault(kind_of(tensor), []).append(tensor)
        growing: list[Any] = []
        for kind, of_kind in kinds.items():
            rises = len(of_kind) > self._before.get(kind, len(of_kind))
            self._in_a_row[kind] = self._in_a_row.get(kind, 0) + 1 if rises else 0
            if self._in_a_row[kind] >= _LOOKS:
                growing += of_kind[-_MOST_OF_A_KIND:]
        self._before = {kind: len(of_kind) for kind, of_kind in kinds.items()}
        return growing


class Counts:
    def __init__(self) -> None:
        self._next = _FIRST_LOOK
        self._of_shape: _Rises[live_tensors.Signature] = _Rises()
        self._of_any_shape: _Rises[live_tensors.LooseSignature] = _Rises()

    def is_due(self, step: int) -> bool:
        return step >= self._next

    def look(self, step: int) -> list[Any]:
        """Tensors of the kinds that have grown in number at each of the last looks."""
        self._next = step * 3 // 2 + 1
        tensors = live_tensors.find_all()
        growing = self._of_shape.look(tensors, live_tensors.signature_of)
        known = {live_tensors.signature_of(tensor).loose() for tensor in growing}
        loose = self._of_any_shape.look(tensors, lambda tensor: live_tensors.signature_of(tensor).loose())
        return growing + [tensor for tensor in loose if live_tensors.signature_of(tensor).loose() not in known]
