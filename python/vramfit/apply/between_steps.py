"""What a script calls between two optimizer steps, and would call for each part of a batch."""

from __future__ import annotations

import functools
from typing import Any, Protocol


class Technique(Protocol):
    def is_due(self, optimizer: Any) -> bool: ...
    def on_plateau(self) -> None: ...


def put_off_averages(torch: Any, technique: Technique) -> None:
    """torch's own average of weights is one over optimizer steps."""
    averaged = torch.optim.swa_utils.AveragedModel
    original = averaged.update_parameters

    @functools.wraps(original)
    def update_parameters(self: Any, *args: Any, **kwargs: Any) -> None:
        if technique.is_due(None):
            original(self, *args, **kwargs)

    averaged.update_parameters = update_parameters


def watch_plateaus(torch: Any, technique: Technique) -> None:
    """Called before the step machine takes calls between two steps for ones too many."""
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau
    original = plateau.step

    @functools.wraps(original)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        technique.on_plateau()
        return original(self, *args, **kwargs)

    plateau.step = step
