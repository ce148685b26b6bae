"""What the schema of one of PyTorch's operators says: found once for each, since modes ask at every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from vramfit.base import composite, process
from vramfit.private import torch as of_torch
from vramfit.values import randomness

Facts = TypeVar("Facts")


class OperatorFacts:
    """What the schema of one overload says, `torch.ops.aten.add_.Tensor` for one."""

    def __init__(self, overload: Any) -> None:
        self.overload = overload
        self.name = of_torch.name_of(overload)  # with its namespace, "aten::add_"
        self.is_composite = composite.is_composite(overload)
        self.is_view = of_torch.is_view(overload)
        self.is_random = randomness.is_random(overload)
        self.returns = of_torch.returns_something(overload)
        self.arguments = of_torch.arguments_of(overload)
        self.writes = [(place, each.name) for place, each in enumerate(self.arguments) if each.is_written]


class KnownOverloads(Generic[Facts]):
    """What `make` finds of each overload, once. Asked by id(), which is told faster than OpOverload's own hash: the
    facts of an overload keep it alive."""

    def __init__(self, make: Callable[[Any], Facts]) -> None:
        self._make = make
        self._known: dict[int, Facts] = {}

    def of(self, overload: Any) -> Facts:
        known = self._known.get(id(overload))
        if known is None:
            known = self._known[id(overload)] = self._make(overload)
        return known


facts_of = process.own(KnownOverloads, OperatorFacts).of
