"""Cross entropies over so many rows and classes that their logits are of weight, for plan/techniques/chunked_loss."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from vramfit.base import notes, process
from vramfit.contract import notes as said

_LEAST = 32 << 20  # bytes of logits in float32
_FLOAT32 = 4


class _State:
    def __init__(self) -> None:
        self.told = 0  # bytes of the largest


_state = process.own(_State)


@notes.guarded("wide_losses")
def _look(logits: Any) -> None:
    size = logits.numel() * _FLOAT32
    if not logits.is_cuda or logits.dim() < 2 or size < max(_LEAST, _state.told + 1):
        return
    _state.told = size
    classes = logits.shape[1]
    notes.note(said.WideLoss(rows=logits.numel() // classes, classes=classes, bytes=size))


def _watched(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def cross_entropy(input: Any, *args: Any, **kwargs: Any) -> Any:  # `input`: as torch calls it
        _look(input)
        return original(input, *args, **kwargs)

    return cross_entropy


def install(torch: Any) -> None:
    functional = torch.nn.functional
    functional.cross_entropy = _watched(functional.cross_entropy)
