"""The weight of each part's loss in that of its batch: by samples, labels or a number that the script divides by."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from vramfit import apply
from vramfit.apply.accumulated import parameters_with_gradients
from vramfit.apply.divisor_weights import DivisorWeights
from vramfit.apply.label_weights import LabelWeights
from vramfit.apply.split_sampler import Share
from vramfit.base import events, ranks


def _is_by_samples(weight: Any, share: Share) -> bool:
    return not hasattr(weight, "dim") and math.isclose(weight, share.size / share.of)


class PartWeights:
    """`backwards`: how many backward passes of the part have begun."""

    def __init__(self, torch: Any, stop: Callable[[str], None], name_effect: Callable[[str], None]) -> None:
        self._stop = stop
        # A card without values would tell nothing.
        self._has_values = apply.has_values()
        self.labels = LabelWeights(torch)
        self.divisors = DivisorWeights(torch, stop, name_effect)

    def begin_batch(self) -> None:
        self.labels.begin()
        self.divisors.begin()

    def need_one_loss(self) -> bool:
        """What the parts are divided by is known at the end, and is one number."""
        return self.labels.in_use or self.divisors.needs_all_parts()

    def weight_of(self, roots: list[Any], share: Share, in_parts: bool, backwards: int, place: str) -> Any:
        """The factor to multiply the loss by: a number, or a tensor."""
        if in_parts and share.size < share.of:
            self.divisors.name_between(roots, share.size, backwards - 1, place)
        weight = self.labels.weight_of(roots, share)
        if weight is None and in_parts:
            weight = self.divisors.weight_of(roots, share, backwards - 1, place)
            if weight is not None and not self.divisors.is_of_samples():
                self.labels.forget_others()
            if not (self.divisors.are_told() and (weight is None or _is_by_samples(weight, share))):
                events.weighed_otherwise(place)
        return share.size / share.of if weight is None else weight

    def are_whole(self, backwards: int) -> bool:
        return self.labels.is_whole() and self.divisors.is_whole(backwards - 1)

    def divide(self, backwards: int, place: str) -> bool:
        """Called after the last part: whether the gradients are true ones only from here on."""
        if self._has_values and ranks.count() > 1 and not self.are_whole(backwards):
            self._stop(
                f"the loss that is differentiated at {place} is divided by a number of its batch's own, which is "
                f"another on each of {ranks.count()} ranks: their gradients are averaged before the parts of a batch "
                f"are put together"
            )
        self.labels.divide(parameters_with_gradients())
        is_divided = self.divisors.divide(parameters_with_gradients(), backwards - 1, place)
        return self.labels.in_use or is_divided
