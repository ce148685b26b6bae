"""Transforms of batches on the card, before the model has them: modules of torchvision and kornia without weights.

They draw and blur whole batches with copies of full size, which may be the most that a step holds
(plan/techniques/host_transforms, apply/host_transforms.py).
"""

from __future__ import annotations

from typing import Any

from vramfit.base import events, notes, process, recorder
from vramfit.contract import notes as said
from vramfit.observe import owners
from vramfit.observe.phases import position

_LIBRARIES = ("torchvision.transforms", "kornia.augmentation", "kornia.filters", "kornia.enhance")
_MOST_SAID = 8


class _State:
    def __init__(self) -> None:
        self.said: set[str] = set()  # classes


_state = process.own(_State)


def is_transform(torch: Any, module: Any) -> bool:
    """One with numbers of its own on the card is none: it works there, or not at all."""
    if isinstance(module, torch.nn.Sequential):
        parts = list(module)
        return bool(parts) and all(is_transform(torch, part) for part in parts)
    if not type(module).__module__.startswith(_LIBRARIES):
        return False
    return not any(tensor.is_cuda for tensor in (*module.parameters(), *module.buffers()))


def is_on_card(values: Any) -> bool:
    return any(tensor.is_cuda for _, tensor in owners.tensors_in(values))


class _Watch:
    def __init__(self, torch: Any) -> None:
        self._torch = torch

    @notes.guarded("transforms on the card")
    def enter(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        name = type(module).__name__
        if name in _state.said or len(_state.said) >= _MOST_SAID or not is_transform(self._torch, module):
            return
        if is_on_card((args, kwargs)):
            _state.said.add(name)
            notes.note(said.CardTransform(name=name, phase=recorder.PHASE_NAMES[position.phase]))


def install(torch: Any) -> None:
    events.root_enter.listen(_Watch(torch).enter)
