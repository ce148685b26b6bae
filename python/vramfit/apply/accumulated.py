"""What is accumulated between two optimizer steps, and who else touches it: gradients between the parts of a batch,
weights of a script that accumulates over batches of its own."""

from __future__ import annotations

from typing import Any

from vramfit.observe import scopes
from vramfit.private import torch as of_torch


def trained_parameters() -> list[Any]:
    return [p for _, module in scopes.live_roots() for p in module.parameters() if p.requires_grad]


def parameters_with_gradients() -> list[Any]:
    return [p for _, module in scopes.live_roots() for p in module.parameters() if p.grad is not None]


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
        return {id(p): (id(p.grad), of_torch.writes.of(p.grad)) for p in parameters_with_gradients()}


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
