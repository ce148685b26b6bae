"""The weights of a loss's terms where they are not the same: a mean's is its part's share of the samples, a sum's is 1.

    loss = bce.sum() + 0.1 * mse.mean()         whole batch of 8:    bce(8) + 0.1 x mse(8)
    part of 2:   weights 1 and 2/8              4 parts:             bce(2) + ... + 0.1 x (2/8 x mse(2) + ...)

The loss is multiplied by one weight, and what goes back into a term whose weight is another by the rest of it.
"""

from __future__ import annotations

from typing import Any

from vramfit.apply import loss_graph, loss_numbers
from vramfit.apply.loss_terms import Term
from vramfit.apply.split_sampler import Share


class Untold(Exception):
    """A term whose weight can't be told; the words say why."""


class TermWeights:
    def __init__(self) -> None:
        self._of_parameters: dict[tuple[Any, ...], bool] = {}  # looked at once: it may mean to go through the network
        self.are_mixed = False  # the terms of this backward pass
        self._hooks: list[Any] = []  # on what this backward pass goes through

    def weight_of(self, terms: list[Term], share: Share, turn: int) -> float | None:
        """What the loss as a whole counts by; None where samples are what counts for each term."""
        are_sums = [self.is_sum(term, share, (turn, place)) for place, term in enumerate(terms)]
        if not any(are_sums):
            return None
        if not all(term.is_known or self.is_own(term, (turn, place)) for place, term in enumerate(terms)):
            raise Untold("a sum over its batch and something else")
        if all(are_sums):
            return 1.0
        self.are_mixed = True
        others = {term.end for term, is_sum in zip(terms, are_sums) if not is_sum}
        ends = {term.end for term, is_sum in zip(terms, are_sums) if is_sum}
        if ends & others:
            raise Untold("a sum over its batch that is divided in one of them by its samples")
        weight = share.size / share.of
        for end in ends:
            self._hooks.append(end.register_prehook(_multiply(1 / weight)))
        return weight

    def is_sum(self, term: Term, share: Share, place: tuple[Any, ...]) -> bool:
        """Over samples, and divided by nothing that hangs on them."""
        if not term.is_known or term.is_mean or self.is_own(term, place):
            return False
        kind = loss_numbers.kind_of(term, share)
        if kind == "unknown":
            raise Untold("a sum that is divided by a number of which nothing tells whether it is its batch's own")
        return kind == "constant"

    def is_own(self, term: Term, place: tuple[Any, ...]) -> bool:
        """Made of weights alone: it is there once a batch."""
        if term.end is None:  # several numbers, of which a backward pass is given the weights
            return False
        key = (*place, term.end.name(), loss_graph.shape_of(term.below))
        if key not in self._of_parameters:
            self._of_parameters[key] = loss_graph.is_of_parameters(term.below)
        return self._of_parameters[key]

    def end(self) -> None:
        """The backward pass is over."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self.are_mixed = False


def _multiply(by: float) -> Any:
    return lambda gradients: tuple(None if each is None else each * by for each in gradients)


def hidden_divisors(term: Term, share: Share) -> tuple[str, list[Any]]:
    """What a sum over samples has below it that makes its parts' sums others than those of the batch: why it is so, or
    else tensors, for which it is so if they are not the same for all parts."""
    tensors: list[Any] = []
    for node in loss_graph.of_loss_below(term.below):
        kind, given = loss_graph.kind_of(node), loss_graph.children_of(node)
        if kind in ("Mean", "Sum") and len(given) == 1:
            dims, shape = loss_graph.reduced_of(node)
            if dims == (0,) and len(shape) > 1 and shape[0] % share.size == 0:
                return f"a sum of what is made of a {kind.lower()} over all samples", []
        if kind != "Div" or len(given) != 1 or node.next_functions[0][0] is None:
            continue
        other = loss_graph.divisor_of(node)
        if not hasattr(other, "dim"):
            if loss_numbers.is_count_below(other, term, share):
                return "a sum of what is divided by the number of samples", []
        elif other.dim() < len(loss_graph.shape_of(node)) or (other.dim() and other.shape[0] == 1 != share.size):
            tensors.append(other)
    return "", tensors
