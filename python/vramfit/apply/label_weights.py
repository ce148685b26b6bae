"""Cross entropy as a mean over labels: of which some are left out (`ignore_index`), or weigh more (`weight`).

The mean over a batch is no mean of its micro-batches' means then: those have to be weighted by what they divide by.

    whole batch:    sum of all terms / D              D = labels that count, or the sum of their weights
    micro-batches:  D1 x mean1 + D2 x mean2 + ...     and, after the last, gradients / (D1 + D2 + ...)

Possible where the loss given to backward() is the cross entropy itself; what is made of it (sums with other terms) is
weighted by samples, and said to be.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vramfit.apply import torch_script
from vramfit.apply.split_sampler import Share
from vramfit.base import notes
from vramfit.contract import notes as said
from vramfit.private import torch as of_torch
from vramfit.private.names import need

need(of_torch.multiply_each)


ID = "micro_batch"


_CLOSE = 1e-5
_LOOKED_AT = 3  # windows whose counts are compared, which waits for the card


@dataclass
class _Mean:
    """One cross entropy of this micro-batch."""

    loss: weakref.ref[Any]
    divisor: Any  # 0-dim float tensor: what the mean divided by
    labels: int


class LabelWeights:
    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._means: list[_Mean] = []  # since the last backward pass
        self._others: list[Any] = []  # per micro-batch: the share of labels that count, in losses made of means
        self._latest: list[Any] = []  # of those, what the last loss brought
        self._total: Any = None  # of this window's weights
        self._labels_a_sample = 1.0
        self._looked_at = 0

    def begin(self) -> None:
        """A new window."""
        self._means.clear()
        self._others.clear()
        self._total = None

    def install(self) -> None:
        functional = self._torch.nn.functional
        for name in ("cross_entropy", "nll_loss"):
            setattr(functional, name, self._watched(getattr(functional, name)))
        torch_script.hide_from(self._torch, functional, "cross_entropy", "nll_loss")

    def _watched(self, original: Callable[..., Any]) -> Callable[..., Any]:
        names = list(inspect.signature(original).parameters)

        @functools.wraps(original)
        def loss_of(*args: Any, **kwargs: Any) -> Any:
            loss = original(*args, **kwargs)
            given = {**dict(zip(names, args)), **kwargs}
            target = given["target"]
            if given.get("reduction", "mean") == "mean" and loss.requires_grad and not target.is_floating_point():
                divisor = self._divisor(target, given.get("weight"), given.get("ignore_index", -100))
                self._means.append(_Mean(weakref.ref(loss), divisor, target.numel()))
            return loss

        return loss_of

    def _divisor(self, target: Any, weight: Any, ignored: int) -> Any:
        with self._torch.no_grad():
            counts = target != ignored
            if weight is None:
                return counts.sum().float()
            return (weight[target.clamp(0, weight.numel() - 1)] * counts).sum().float()

    def weight_of(self, roots: list[Any], share: Share) -> Any:
        """The weight for the backward pass that begins: a 0-dim tensor, or None where it is not one of such a mean
        alone."""
        means, self._means = self._means, []
        self._latest = []
        own = next((mean for mean in means if len(roots) == 1 and mean.loss() is roots[0]), None)
        if own is None:
            self._latest = [mean.divisor / max(mean.labels, 1) for mean in means[:1]]
            self._others += self._latest
            return None
        if self._total is None:
            self._labels_a_sample = own.labels / share.size
        weight = own.divisor / (self._labels_a_sample * share.of)
        self._total = weight if self._total is None else self._total + weight
        return weight

    def forget_others(self) -> None:
        """The loss made of a mean was weighted by what it is divided by after all."""
        self._others = self._others[: len(self._others) - len(self._latest)]

    @property
    def in_use(self) -> bool:
        return self._total is not None

    def is_whole(self) -> bool:
        """Whether there is nothing to divide by; waits for the card."""
        return self._total is None or abs(float(self._total) - 1.0) < _CLOSE

    def divide(self, parameters: list[Any]) -> None:
        """Called after the last backward pass of a window."""
        if self._total is not None:
            with self._torch.no_grad():
                of_torch.multiply_each([p.grad for p in parameters], 1 / self._total)
        elif self._others and self._looked_at < _LOOKED_AT:
            self._looked_at += 1
            shares = [float(share) for share in self._others]
            if max(shares) - min(shares) > 1e-6:
                self._looked_at = _LOOKED_AT
                text = (
                    "labels that are left out, or weigh more, are spread unevenly over a batch's micro-batches, and "
                    "the loss is made of more than one mean over them: samples, not labels, were given equal weight"
                )
                notes.note(said.PlanEffect(id=ID, text=text, what="label_weights"))
