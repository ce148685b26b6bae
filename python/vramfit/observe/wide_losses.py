"""Cross entropies over so many rows and classes that their logits matter, for plan/techniques/chunked_loss."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from vramfit.base import notes, process
from vramfit.contract import notes as said
from vramfit.private import torch as of_torch

_LEAST = 32 << 20  # bytes of logits in float32
_FLOAT32 = 4


class _State:
    def __init__(self) -> None:
        self.largest = 0  # bytes of the largest that a note was made of


_state = process.own(_State)


# Autograd's nodes: what keeps the rows of a linear layer's outputs apart, its product, what a weight goes through.
_BETWEEN = ("View", "UnsafeView", "Reshape", "LogSoftmax", "ToCopy", "Clone")
_PRODUCTS = ("Addmm", "Mm", "Linear")
_OF_WEIGHTS = ("T", "ToCopy", "Transpose")


def _pass_by(node: Any, names: tuple[str, ...]) -> Any:
    while node is not None and node.name().startswith(tuple(f"{name}Backward" for name in names)):
        node = node.next_functions[0][0]
    return node


def _features(logits: Any, classes: int) -> int:
    """What the linear layer that put them out is given; 0 where it was none."""
    product = _pass_by(logits.grad_fn, _BETWEEN)
    if product is None or not product.name().startswith(_PRODUCTS):
        return 0
    for node, _ in product.next_functions:
        weight = of_torch.leaf.of(_pass_by(node, _OF_WEIGHTS))
        if weight is not None and weight.dim() == 2 and weight.shape[0] == classes:
            return int(weight.shape[1])
    return 0


@notes.guarded("wide_losses")
def _look(logits: Any, is_log: bool) -> None:
    size = logits.numel() * _FLOAT32
    if not logits.is_cuda or logits.dim() < 2 or size < max(_LEAST, _state.largest + 1) or logits.grad_fn is None:
        return
    _state.largest = size
    classes, features = logits.shape[1], _features(logits, logits.shape[1])
    rows = logits.numel() // classes
    notes.note(said.WideLoss(rows=rows, classes=classes, bytes=size, is_log=is_log, features=features))


def _watched(original: Callable[..., Any], is_log: bool) -> Callable[..., Any]:
    @functools.wraps(original)
    def loss(input: Any, *args: Any, **kwargs: Any) -> Any:  # `input`: as torch calls it
        _look(input, is_log)
        return original(input, *args, **kwargs)

    return loss


def install(torch: Any) -> None:
    functional = torch.nn.functional
    functional.cross_entropy = _watched(functional.cross_entropy, is_log=False)
    functional.nll_loss = _watched(functional.nll_loss, is_log=True)
