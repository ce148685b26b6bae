"""What is accumulated between two optimizer steps, and who else touches it: gradients between the parts of a batch,
weights of a script that accumulates over batches of its own."""

from __future__ import annotations

import weakref
from typing import Any

from vramfit.base import process
from vramfit.observe import scopes
from vramfit.private import torch as of_torch


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.optimizers: weakref.WeakSet[Any] = weakref.WeakSet()


_state = process.own(_State)


def learn_optimizer(optimizer: Any) -> None:
    """What it trains may belong to no root that lasts: `model[:3](x)` calls a network that is made for that call."""
    _state.optimizers.add(optimizer)


def _parameters_of_roots() -> list[Any]:
    return [p for _, module in scopes.live_roots() for p in module.parameters()]


def trained_parameters() -> list[Any]:
    return [p for p in _parameters_of_roots() if p.requires_grad]


def parameters_with_gradients() -> list[Any]:
    """Those of networks, and those that optimizers have beside them."""
    found = {id(p): p for p in _parameters_of_roots()}
    groups = (group["params"] for optimizer in list(_state.optimizers) for group in optimizer.param_groups)
    found.update((id(p), p) for group in groups for p in group)
    return [p for p in found.values() if p.grad is not None]


class PartGradients:
    """The state of each parameter's gradient after the last backward pass of a batch's parts."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, int]] = {}

    def forget(self) -> None:
        self._known.clear()

    def remember(self) -> None:
        self._known = self._now()

    def were_touched(self) -> bool:
        """Whether somebody changed what was accumulated between two parts of a batch: nobody may."""
        if not self._known:
            return False
        now = self._now()
        return any(now.get(key) != value for key, value in self._known.items())

    @staticmethod
    def _now() -> dict[int, tuple[int, int]]:
        # An optimizer's parameters stay those that they were where a network has others in forward (FSDP).
        found = [p for p in _parameters_of_roots() if p.grad is not None]
        return {id(p): (id(p.grad), of_torch.writes.of(p.grad)) for p in found}


class OwnAccumulation:
    """The batches since the last step that was asked for, of a script that accumulates."""

    def __init__(self) -> None:
        self.batches = 0
        self._writes: dict[int, int] = {}  # to each parameter, while it does

    def pass_without_step(self, is_whole_batch: bool) -> bool:
        """Called after a part: whether somebody changed weights meanwhile."""
        writes = {id(p): of_torch.writes.of(p) for p in trained_parameters()}
        is_changed = self.batches > 0 and any(self._writes.get(key, now) != now for key, now in writes.items())
        self._writes = writes
        self.batches += is_whole_batch
        return is_changed

    def end(self) -> None:
        """A step was asked for."""
        self.batches = 0
