"""Hugging Face's Trainer with a model that does not divide its loss by what the Trainer gives it for that.

The Trainer leaves it to a model that takes further arguments to divide its loss by the labels of all parts of a batch
(num_items_in_batch). Many take them and give the mean of their own part: gradients would be those of sums.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from vramfit.private import torch as of_torch
from vramfit.private import transformers as of_trainer

# What works with a number of labels; whoever only looks at a tensor asks for its size, its device or its memory.
_DIVIDING = "div true_divide __truediv__ __rtruediv__ __rdiv__ reciprocal clamp clamp_min max maximum pow __pow__"
_MULTIPLYING = "mul multiply __mul__ __rmul__"
_CASTING = "to float long int item __float__ __int__ __index__ tolist type cpu"
_CALCULATING = frozenset(f"{_DIVIDING} {_MULTIPLYING} {_CASTING}".split())


class _Watched(torch.Tensor):
    """Knows whether somebody worked with it; what comes of that is an ordinary tensor."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with of_torch.without_function():
            for argument in args:
                if isinstance(argument, cls) and getattr(function, "__name__", "") in _CALCULATING:
                    argument.__dict__["_vramfit_used"] = True
            plain = [a.as_subclass(torch.Tensor) if isinstance(a, cls) else a for a in args]
            return function(*plain, **(kwargs or {}))


def divide_means(trainer: Any, has_own_parts: bool, refuse: Callable[[str], None]) -> None:
    """`has_own_parts`: the script accumulates too, and its gradients are those of sums today."""
    original = trainer.compute_loss

    @functools.wraps(original)
    def compute_loss(*args: Any, **kwargs: Any) -> Any:
        given = kwargs.get("num_items_in_batch")
        if not isinstance(given, torch.Tensor):
            return original(*args, **kwargs)
        watched = kwargs["num_items_in_batch"] = given.as_subclass(_Watched)
        loss = original(*args, **kwargs)
        if not watched.__dict__.get("_vramfit_used") and of_trainer.divides_itself.of(trainer, False):
            if has_own_parts:
                refuse("the script accumulates in a Trainer whose model does not divide by all labels")
            of_trainer.divides_itself.put(trainer, False)  # the Trainer divides by the number of parts then
        return loss

    trainer.compute_loss = compute_loss
