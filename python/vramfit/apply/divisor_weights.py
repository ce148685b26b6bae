"""The weight of a micro-batch's loss, by what the loss is divided by: a mean over the whole batch is no mean of its
parts' means where the parts have other counts, and a sum over it is that of its parts' sums.

    whole batch:    sum of all / D                       D = mask.sum(), the numbers that a mask has chosen, ...
    micro-batches:  D1 x loss1 + D2 x loss2 + ...        and, after the last, gradients / (D1 + D2 + ...)
                    loss1 + loss2 + ...                  where nothing of its batch's divides it

Exact for a loss that is one such quotient, or has the same divisor for each of its terms. Of others each term has to be
a mean over samples or a sum over them (term_weights.py): refused as soon as it is seen, whatever the masks of the first
batches are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vramfit.apply import between_samples, loss_graph, loss_numbers, single_samples
from vramfit.apply.divided_parts import DividedParts
from vramfit.apply.loss_terms import Term, terms_of
from vramfit.apply.split_sampler import Share
from vramfit.apply.term_weights import TermWeights, Untold, hidden_divisors
from vramfit.base import notes
from vramfit.private import torch as of_torch

_CLOSE = 1e-9
_WHOLE = 1e-5  # of numbers on the card
_LOOKED_BELOW = 8  # parts of which it is looked at what is summed


class DivisorWeights:
    def __init__(self, torch: Any, stop: Callable[[str], None], name_effect: Callable[[str], None]) -> None:
        """`stop` ends the job, with a reason."""
        self._torch, self._stop, self._name_effect = torch, stop, name_effect
        self._terms = TermWeights()
        # The keys are the turn of a backward pass among those of its part:
        self._known: dict[int, loss_numbers.Known] = {}  # what the windows before have shown
        self._below: dict[int, int] = {}  # parts that were looked at
        self._parts: dict[int, DividedParts] = {}
        self._looked_between: set[int] = set()  # turns whose samples may be set against each other
        self._has_trained = False  # a trainer's part was looked at
        self._is_named = False
        self._has_untold = False  # terms of the loss at hand, of which a mean by samples is only taken
        self.begin()

    def begin(self) -> None:
        """A new window."""
        self._known.update({turn: parts.shown() for turn, parts in self._parts.items() if parts.is_done})
        self._parts = {}
        self._numbers: dict[int, list[tuple[float, ...]]] = {}  # of each part: what terms are divided by
        self._held: dict[tuple[int, str], list[Any]] = {}  # tensors of the first part
        self._turns = 0
        self._end_terms()

    def weight_of(self, roots: list[Any], share: Share, turn: int, place: str) -> Any:
        """The weight for the backward pass that begins: a number or a tensor of one; None where samples are what
        counts."""
        self._turns = max(self._turns, turn + 1)
        self._has_untold = False
        self._end_terms()
        if share.size == share.of:
            return None
        terms = terms_of(roots, share.size)
        if not terms:
            return None
        self._mark_singles(terms, share, turn, place)
        self._look_at_means(terms, share, place)
        self._name_unknown(terms, turn, place)
        self._name_twofold(terms, share, turn)
        self._name_divided(terms, share, turn, place)
        own = [self._terms.is_own(term, (turn, at)) for at, term in enumerate(terms) if not term.is_mean]
        if any(term.key() != terms[0].key() for term in terms) or len(set(own)) > 1 or not terms[0].is_known:
            places = [(turn, at) for at in range(len(terms))]
            self._has_untold = any(not (t.is_known or self._terms.is_own(t, at)) for t, at in zip(terms, places))
            return self._weight_of_several(terms, share, turn, place)
        if any(own):
            return None
        first = terms[0]
        if not first.is_mean:
            self._look_below(terms, share, turn, place)
            if not first.divisors and not first.factors:
                return 1.0
        return self._weight_of_quotient(first, roots, share, turn)

    def _mark_singles(self, terms: list[Term], share: Share, turn: int, place: str) -> None:
        places = {id(term): (turn, at) for at, term in enumerate(terms)}
        is_sure = single_samples.mark(terms, share.size, lambda term: self._terms.is_own(term, places[id(term)]))
        if not is_sure:
            self._name_once(
                f"nothing tells whether terms of the loss that is differentiated at {place} are of single samples: "
                f"they were taken for means over all"
            )

    def _name_once(self, text: str) -> None:
        """Parts of later batches have the same losses."""
        if not self._is_named:
            self._is_named = True
            self._name_effect(text)

    def _name_twofold(self, terms: list[Term], share: Share, turn: int) -> None:
        """Names what nothing tells in parts of one size. In others numbers of samples differ, which is looked at."""
        if self._is_named or share.of % share.size or self._known.get(turn):
            return
        for at, term in enumerate(terms):
            is_sum = term.is_known and not term.is_mean and not self._terms.is_own(term, (turn, at))
            if is_sum and (text := loss_numbers.twofold(term, share)):
                self._name_once(text)

    def _name_divided(self, terms: list[Term], share: Share, turn: int, place: str) -> None:
        """Names means of what is divided by a number of its batch's own; sums of it are refused."""
        if self._is_named:
            return
        tensors = [each for term in terms if term.is_mean for each in hidden_divisors(term, share)[1]]
        is_first = (turn, "means") not in self._held
        if not self._is_constant(tensors, turn, "means") and not is_first:
            self._name_once(
                f"the loss that is differentiated at {place} is a mean of what is divided by a number of its batch's "
                f"own: that of a batch is no mean of those of its parts"
            )

    def _name_unknown(self, terms: list[Term], turn: int, place: str) -> None:
        for at, term in enumerate(terms):
            if term.is_known or self._terms.is_own(term, (turn, at)):
                continue
            end = "several numbers" if term.end is None else loss_graph.kind_of(term.end)
            self._name_effect(
                f"the loss that is differentiated at {place} ends in {end}, which is neither a mean nor a sum over its "
                "batch: of its parts a mean by samples is taken"
            )
            return

    @notes.guarded("divisor_weights.name_between")
    def name_between(self, roots: list[Any], samples: int, turn: int, place: str) -> None:
        """Names what sets samples against each other, once: later batches have the same losses."""
        if turn in self._looked_between:
            return
        self._looked_between.add(turn)
        known = (term for term in terms_of(roots, samples) if term.is_known)
        if what := next(filter(None, (between_samples.find(term, samples) for term in known)), ""):
            self._name_effect(
                f"the loss that is differentiated at {place} holds {what}: each part of a batch has only its own"
            )

    def _weight_of_quotient(self, first: Term, roots: list[Any], share: Share, turn: int) -> Any:
        divisors = first.divisors + ([] if first.is_mean else [self._inverse(each) for each in first.factors])
        number, tensor = 1.0, None
        for value in [first.count, *divisors]:
            if hasattr(value, "dim"):
                tensor = value.float() if tensor is None else tensor * value
            else:
                number *= value
        parts = self._parts.get(turn)
        if parts is None:
            parts = self._parts[turn] = DividedParts(self._torch, first, share, self._known.get(turn, ""))
        if tensor is not None and self._is_constant(first.tensors(), turn):
            tensor = None
        elif not first.is_mean and (tensor is not None or not parts.is_sum):
            tensor = self._without_guard(roots, number, tensor)
        weight = parts.add(number, tensor, share)
        self._clean(first, weight)
        return weight

    def _is_constant(self, tensors: list[Any], turn: int, which: str = "") -> bool:
        """Whether they are those of the window's first part: a loss scale, the script's weights of its terms. What is
        made of each part's own lies elsewhere, as the first part's are held here."""
        if (turn, which) not in self._held:
            self._held[turn, which] = tensors
            return not tensors
        known = {each.data_ptr() for each in self._held[turn, which]}
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

    # -- several terms

    def _weight_of_several(self, terms: list[Term], share: Share, turn: int, place: str) -> float | None:
        self._look_at(terms, share, turn, place)
        try:
            weight = self._terms.weight_of(terms, share, turn)
        except Untold as untold:
            self._stop(
                f"the loss that is differentiated at {place} is made of several terms, one of them {untold}: they "
                f"can't be put together"
            )
            return None
        if weight is not None:
            sums = [term for at, term in enumerate(terms) if self._terms.is_sum(term, share, (turn, at))]
            self._look_below(sums, share, turn, place)
        return weight

    def is_of_samples(self) -> bool:
        """Whether means among the terms of the loss at hand were weighted by samples."""
        return self._terms.are_mixed

    def are_told(self) -> bool:
        """Whether all terms of the loss at hand count as the loss as a whole does."""
        return not (self._has_untold or self._terms.are_mixed)

    def _end_terms(self) -> None:
        self._terms.end()

    def end_backward(self) -> None:
        self._end_terms()

    def _look_at(self, terms: list[Term], share: Share, turn: int, place: str) -> None:
        """A loss of several terms: what each is divided by has to be the same for parts of the same size."""
        if len(terms) < 2:
            return
        is_first = (turn, "") not in self._held
        tensors = [each for term in terms for each in (_divisors_of(term) if term.is_mean else term.tensors())]
        is_of_parts = not self._is_constant(tensors, turn)
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
        own: list[float] = []
        for term in terms:
            if term.is_known and not term.is_mean:
                size = share.size if loss_numbers.kind_of(term, share) == "count" else 1
                own += [value / size for value in (*term.divisors, *term.factors) if not hasattr(value, "dim")]
        known = self._numbers.setdefault(turn, [])
        if any(len(each) == len(own) and each != tuple(own) for each in known):
            self._stop(
                f"the loss that is differentiated at {place} is made of several terms, one of them a sum that is "
                f"divided by a number which is another for each part of a batch: they can't be put together"
            )
        known.append(tuple(own))

    def _look_at_means(self, terms: list[Term], share: Share, place: str) -> None:
        times = (loss_numbers.times_samples(term, share) for term in terms if term.is_mean and term.factors)
        if number := next((each for each in times if each), None):
            self._stop(
                f"the loss that is differentiated at {place} is a mean times {number:g}, and nothing tells whether "
                f"that is the number of its samples, which makes it a sum, or one of the script's"
            )

    def _look_below(self, sums: list[Term], share: Share, turn: int, place: str) -> None:
        """What is summed must not hang on other samples than its own."""
        if self._below.get(turn, 0) >= _LOOKED_BELOW:
            return
        self._below[turn] = self._below.get(turn, 0) + 1
        tensors: list[Any] = []
        for term in sums:
            what, further = hidden_divisors(term, share)
            tensors += further
            if what:
                break
        else:
            is_first = (turn, "below") not in self._held
            is_of_parts = not self._is_constant(tensors, turn, "below") and not is_first
            what = "a sum of what is divided by numbers of its batch's own" if is_of_parts else ""
        if what:
            self._stop(
                f"the loss that is differentiated at {place} is {what}: that of a batch is no sum of those of its parts"
            )

    # -- trainers

    def look_at_trainer(self, roots: list[Any], share: Share, place: str) -> None:
        """A framework accumulates, and gives each part the same weight. `share` is that of a part in its batch."""
        if self._has_trained:
            return
        self.name_between(roots, share.size, 0, place)
        terms = terms_of(roots, share.size)
        sums = [(at, term) for at, term in enumerate(terms) if term.is_known and not term.is_mean]
        is_first = (0, "") not in self._held
        is_constant = self._is_constant([each for _, term in sums for each in term.tensors()], 0)
        self._has_trained = not is_first
        if any(term.of_chosen for term in terms) or not (is_first or is_constant):
            self._stop(
                f"the loss that is differentiated at {place} is divided by a number of its batch's own, and the "
                f"trainer would give each part of a batch the same weight"
            )
        if any(_is_plain_sum(term, share) and not self._terms.is_own(term, (0, at)) for at, term in sums):
            self._stop(
                f"the loss that is differentiated at {place} is a sum over its batch, and the trainer would divide "
                f"it by the number of parts of a batch"
            )

    # -- the end of a window

    def needs_all_parts(self) -> bool:
        """Whether gradients are those of a batch only after they were divided, which is when its last part is done."""
        return any(hasattr(parts.total, "dim") for parts in self._parts.values())

    def is_whole(self, turn: int) -> bool:
        """Whether there is nothing to multiply by after this backward pass of the last part; waits for the card."""
        return abs(float(self._factor(turn)) - 1.0) < _WHOLE

    def divide(self, parameters: list[Any], turn: int, place: str) -> bool:
        """Called after a backward pass of a window's last part; whether it had to multiply."""
        factor = self._factor(turn)
        if not parameters or not hasattr(factor, "dim") and abs(factor - 1.0) <= _CLOSE:
            return False
        if self._turns > 1:
            self._stop(
                f"losses are differentiated one after the other ({place}), and one of them is divided by a number of "
                f"its batch's own"
            )
        with self._torch.no_grad():
            of_torch.multiply_each([p.grad for p in parameters], factor)
        return True

    def _factor(self, turn: int) -> Any:
        """For the gradients of a window whose last part is done."""
        parts = self._parts.get(turn)
        if parts is None:
            return 1.0
        parts.is_done = True
        if why := parts.why_not():
            self._stop(why)
        return parts.factor()


def _divisors_of(term: Term) -> list[Any]:
    return [each for each in term.divisors if hasattr(each, "dim")]


def _is_plain_sum(term: Term, share: Share) -> bool:
    """But for what the trainer divides by: the number of parts that it puts together."""
    parts = -(-share.of // share.size)
    divisors = [each for each in term.divisors if hasattr(each, "dim") or each not in (1, parts)]
    plain = Term(divisors=divisors, factors=term.factors, end=term.end, below=term.below)
    return not plain.tensors() and loss_numbers.kind_of(plain, share) == "constant"
