"""The parts of one batch, and what the loss of each was divided by. What that is, a number of samples or one of the
script's own, may only show once all parts are known; until then they are weighted by what it seems to be:

    a number of samples     8/20, 8/20, 4/20     and where it was the script's own,   x 20/8 after the last
    the script's own        1,    1,    1        and where it is another for each,    / (D1 + D2 + D3) x D1
"""

from __future__ import annotations

from typing import Any

from vramfit.apply import loss_numbers
from vramfit.apply.loss_terms import Term
from vramfit.apply.split_sampler import Share


class DividedParts:
    def __init__(self, torch: Any, first: Term, share: Share, known: loss_numbers.Known) -> None:
        """`known` is what earlier batches have shown."""
        self._torch, self._first, self._share, self._known = torch, first, share, known
        self._told: loss_numbers.Kind = "count" if first.is_mean else loss_numbers.kind_of(first, share)
        is_told = self._told == "constant" and not first.tensors()
        self.is_sum = not first.is_mean and (known == "constant" or not known and is_told)
        self._base = 1.0 if self.is_sum else share.size / share.of  # the weight of the first part
        self._begun = 1.0
        self._scale: Any = None
        self._numbers: list[tuple[int, float]] = []  # samples, divided by
        self._has_tensors = False  # other ones in each part
        self.total: Any = 0.0
        self.is_done = False

    def add(self, number: float, tensor: Any, share: Share) -> Any:
        """The weight of a part: about its share of all samples, or about one."""
        is_first = not self._numbers
        if self.is_sum and is_first:
            tensor = None  # that of the first part is not known to be its own
        self._has_tensors |= tensor is not None and not is_first
        self._numbers.append((share.size, number))
        if is_first:
            self._begun = number or 1.0
            if tensor is not None:
                self._scale = self._torch.where(tensor > 0, tensor, self._torch.ones_like(tensor))
        if self._first.is_mean and tensor is None and number == self._begun:
            number = self._begun / self._share.size * share.size  # whatever it was, it is no count of samples
        weight: Any = number / self._begun * self._base
        if tensor is not None:
            weight = weight * (tensor if self._scale is None else tensor / self._scale)
        self.total = self.total + weight
        return weight

    def _varies(self) -> bool:
        return self._has_tensors or len({number for _, number in self._numbers}) > 1

    def _has_sizes(self) -> bool:
        return len({size for size, _ in self._numbers}) > 1

    def shown(self) -> loss_numbers.Known:
        """What its divisor is."""
        if self._first.is_mean:
            return ""
        if self._varies():
            return "varying"
        if self._known in ("varying", "constant"):
            return self._known
        return "constant" if self._told == "constant" or self._has_sizes() else "count"

    def why_not(self) -> str:
        """Why its gradients, or those of the batches before, are not those of whole batches."""
        shown = self.shown()
        if shown == "varying" and self._known == "constant" or shown == "constant" and self._known == "count":
            return (
                "a sum over each batch is divided by a number that was the same for all parts of the batches before, "
                "and is not what it was taken for: they were weighted otherwise"
            )
        if shown == "count" and self._told == "unknown":
            number = next((each for each in self._first.divisors if not hasattr(each, "dim")), self._begun)
            return (
                f"the loss is a sum over its batch that is divided by {number:g}, and nothing tells whether that is a "
                f"number of its batch's own or one of the script's"
            )
        return ""

    def factor(self) -> Any:
        """What the gradients of all parts are to be multiplied by."""
        if self.shown() == "constant":
            return 1 / self._base
        total = self.total
        return 1 / total if hasattr(total, "dim") or total else float("nan")
