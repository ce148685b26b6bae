"""The weight of a micro-batch's loss, by what the loss is divided by: a mean over the whole batch is no mean of its
parts' means where the parts have other counts.

    whole batch:    sum of all / D                       D = mask.sum(), the numbers that a mask has chosen, ...
    micro-batches:  D1 x loss1 + D2 x loss2 + ...        and, after the last, gradients / (D1 + D2 + ...)

Exact for a loss that is one such quotient, or has the same divisor for each of its terms. A sum of others can't be
weighted in one backward pass: refused as soon as it is seen, whatever the masks of the first batches are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vramfit.apply.loss_terms import Term, terms_of
from vramfit.apply.split_sampler import Share
from vramfit.private import torch as of_torch

_CLOSE = 1e-9
_WHOLE = 1e-5  # of numbers on the card


class DivisorWeights:
    def __init__(self, torch: Any, stop: Callable[[str], None]) -> None:
        """`stop` ends the job, with a reason."""
        self._torch, self._stop = torch, stop
        self._looked_at = False
        self.begin()

    def begin(self) -> None:
        """A new window."""
        # The keys are the turn of a backward pass among those of its part:
        self._first: dict[int, tuple[float, Any, int]] = {}  # of the first part: numbers, tensors, samples
        self._totals: dict[int, Any] = {}
        self._numbers: list[tuple[int, int, tuple[float, ...]]] = []  # turn, samples, what terms are divided by
        self._held: dict[int, list[Any]] = {}  # tensors of the first part
        self._turns = 0

    def weight_of(self, roots: list[Any], share: Share, turn: int, place: str) -> Any:
        """The weight for the backward pass that begins: a number or a tensor of one; None where samples are what
        counts."""
        self._turns = max(self._turns, turn + 1)
        terms = terms_of(roots)
        if not terms or not terms[0].is_known or any(term.key() != terms[0].key() for term in terms):
            self._look_at(terms, share, turn, place)
            return None
        first = terms[0]
        divisors = first.divisors + ([] if first.is_mean else [self._inverse(each) for each in first.factors])
        if not first.is_mean and not divisors:
            return None
        number, tensor = 1.0, None
        for value in [first.count, *divisors]:
            if hasattr(value, "dim"):
                tensor = value.float() if tensor is None else tensor * value
            else:
                number *= value
        if tensor is not None and self._is_constant(_tensors_of([first]), turn):
            tensor = None
        elif not first.is_mean:
            tensor = self._without_guard(roots, number, tensor)
        weight = self._share_of(number, tensor, share, turn)
        self._totals[turn] = self._totals.get(turn, 0.0) + weight
        self._clean(first, weight)
        return weight

    def _is_constant(self, tensors: list[Any], turn: int) -> bool:
        """Whether they are those of the window's first part: a loss scale, the script's weights of its terms. What is
        made of each part's own lies elsewhere, as the first part's are held here."""
        if turn not in self._held:
            self._held[turn] = tensors
            return not tensors
        known = {each.data_ptr() for each in self._held[turn]}
        return all(each.data_ptr() in known for each in tensors)

    def _inverse(self, factor: Any) -> Any:
        if hasattr(factor, "dim"):
            return self._torch.where(factor == 0, self._torch.zeros_like(factor), 1 / factor)
        return 1 / factor if factor else 1.0

    def _without_guard(self, roots: list[Any], number: float, tensor: Any) -> Any:
        """`max(mask.sum(), 1)` of an empty mask: what guards against a division by nothing is no count."""
        if len(roots) != 1 or tensor is None and number != 1.0:
            return tensor
        with self._torch.no_grad():
            divisor = self._torch.ones((), device=roots[0].device) if tensor is None else tensor
            is_empty = (roots[0].detach().reshape(()) == 0) & (divisor * number <= 1)
            return self._torch.where(is_empty, self._torch.zeros_like(divisor), divisor)

    def _share_of(self, number: float, tensor: Any, share: Share, turn: int) -> Any:
        """About the part's share of all samples, so that sums of gradients stay what they were."""
        if turn not in self._first:
            scale = None if tensor is None else self._torch.where(tensor > 0, tensor, self._torch.ones_like(tensor))
            self._first[turn] = (number or 1.0, scale, share.size)
        begun, scale, size = self._first[turn]
        if tensor is None and number == begun and share.size != size:
            number = begun / size * share.size  # whatever it was, it is no count of samples
        weight = number / (begun / size * share.of)
        return weight if tensor is None else weight * (tensor if scale is None else tensor / scale)

    def _clean(self, term: Term, weight: Any) -> None:
        """Nothing divided by nothing is not a number, and would stay in all gradients: such a part has no weight."""
        torch = self._torch

        def zeroed(inputs: Any, _outputs: Any) -> Any:
            if not hasattr(weight, "dim"):
                return tuple(None if each is None else torch.zeros_like(each) for each in inputs)
            return tuple(None if each is None else torch.where(weight == 0, 0.0, each) for each in inputs)

        if hasattr(weight, "dim") or weight == 0:
            for node in term.nodes:
                node.register_hook(zeroed)

    def _look_at(self, terms: list[Term], share: Share, turn: int, place: str) -> None:
        """A loss of several terms: what each is divided by has to be the same for parts of the same size."""
        if len(terms) < 2:
            return
        is_first = turn not in self._held
        is_of_parts = not self._is_constant(_tensors_of([term for term in terms if not term.is_mean]), turn)
        for what, is_so in (
            ("a mean over what a mask chooses", any(term.of_chosen for term in terms)),
            ("a sum that is divided by a number of its batch's own", is_of_parts and not is_first),
        ):
            if is_so:
                self._stop(
                    f"the loss that is differentiated at {place} is made of several terms, one of them {what}: batches "
                    f"whose masks are spread unevenly can't be put together from their parts"
                )
                return
        own = tuple(value for term in terms if not term.is_mean for value in term.divisors if not hasattr(value, "dim"))
        others = [known for at, size, known in self._numbers if (at, size, len(known)) == (turn, share.size, len(own))]
        if any(known != own for known in others):
            self._stop(
                f"the loss that is differentiated at {place} is made of several terms, one of them a sum that is "
                f"divided by a number which is another for each part of a batch: they can't be put together"
            )
        self._numbers.append((turn, share.size, own))

    def look_at_trainer(self, roots: list[Any], place: str) -> None:
        """A framework accumulates, and gives each part the same weight."""
        if self._looked_at:
            return
        terms = terms_of(roots)
        is_first = 0 not in self._held
        is_constant = self._is_constant(_tensors_of([term for term in terms if not term.is_mean]), 0)
        self._looked_at = not is_first
        if any(term.of_chosen for term in terms) or not (is_first or is_constant):
            self._stop(
                f"the loss that is differentiated at {place} is divided by a number of its batch's own, and the "
                f"trainer would give each part of a batch the same weight"
            )

    def needs_all_parts(self) -> bool:
        """Whether gradients are those of a batch only after they were divided, which is when its last part is done."""
        return any(hasattr(total, "dim") for total in self._totals.values())

    def is_whole(self, turn: int) -> bool:
        """Whether there is nothing to divide by after this backward pass of the last part; waits for the card."""
        return abs(float(self._totals.get(turn, 1.0)) - 1.0) < _WHOLE

    def divide(self, parameters: list[Any], turn: int, place: str) -> bool:
        """Called after a backward pass of a window's last part; whether it had to divide."""
        total = self._totals.get(turn, 1.0)
        is_tensor = hasattr(total, "dim")
        if not parameters or not is_tensor and abs(total - 1.0) <= _CLOSE:
            return False
        if self._turns > 1:
            self._stop(
                f"losses are differentiated one after the other ({place}), and one of them is divided by a number of "
                f"its batch's own"
            )
        with self._torch.no_grad():
            factor = 1 / total if is_tensor or total else float("nan")
            of_torch.multiply_each([p.grad for p in parameters], factor)
        return True


def _tensors_of(terms: list[Term]) -> list[Any]:
    values = [value for term in terms for value in (term.count, *term.divisors, *term.factors)]
    return [value for value in values if hasattr(value, "dim")]
