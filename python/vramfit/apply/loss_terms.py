"""What a loss is made of, read from autograd's graph before a backward pass: sums and means of many numbers, and what
each was divided by on its way into the loss.

    loss = (l * mask).sum() / mask.sum() + 0.1 * kl.mean()
      term 1: a sum, divided by mask.sum(), a number that is made of the batch
      term 2: a mean over kl.numel() numbers

Only the loss's end is read, from where samples are put together: what went before is a matter of each. A sum over what
was a mean over samples, `l.mean(0).sum()`, is a mean; what divides each number divides their sum, `(l / n).sum()`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from vramfit.apply import loss_graph
from vramfit.apply.loss_graph import children_of, count_of, kind_of, shape_of
from vramfit.private import torch as of_torch

_MOST_NODES = 400
# Parts of the names of autograd's nodes, whose numbers are those of what they were given.
_SAME = ("Neg", "ToCopy", "Clone", "Squeeze", "View", "UnsafeView", "ReshapeAlias", "Unsqueeze", "Expand", "Alias")
_TOGETHER = ("Stack", "Cat")
_MEAN, _SUM = 1, 2  # a loss's `reduction`, as nodes save it


@dataclass
class Term:
    is_known: bool = True
    is_mean: bool = False
    count: Any = 1  # numbers that the mean is over, or the weights of its labels: a tensor
    divisors: list[Any] = field(default_factory=list)  # numbers, or tensors of one on the card
    factors: list[Any] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)  # that divide, or multiply
    of_chosen: bool = False  # over what a mask has chosen
    is_averaged: bool = False  # one of several losses of which the mean is taken
    end: Any = None  # the node that puts samples together
    below: Any = None  # what it was given

    def key(self) -> tuple[Any, ...]:
        """The same for terms that were divided by the same."""
        own = [_identity(value) for value in (self.count, *self.divisors, *self.factors)]
        return (self.is_known, self.is_mean, self.of_chosen, *own)

    def tensors(self) -> list[Any]:
        return [value for value in (self.count, *self.divisors, *self.factors) if hasattr(value, "dim")]


def _identity(value: Any) -> Any:
    return (value.data_ptr(), value.dtype) if hasattr(value, "dim") else value


def terms_of(roots: list[Any], samples: int) -> list[Term]:
    """None is known of a root that is no single number. `samples`: of the batch, or the part of it, that it is of."""
    terms: list[Term] = []
    reader = _Reader(terms, samples)
    for root in roots:
        if root.numel() != 1:
            terms.append(Term(is_known=False))
        elif root.grad_fn is not None:
            reader.read(root.grad_fn, Term())
    return terms


class _Reader:
    def __init__(self, terms: list[Term], samples: int) -> None:
        self._terms, self._samples = terms, samples
        self._left = _MOST_NODES

    def read(self, node: Any, so_far: Term) -> None:
        self._left -= 1
        given = children_of(node)
        name = kind_of(node)
        if self._left < 0:
            self._add_unknown(node)
        elif name in ("Add", "Sub") and all(count_of(child) == 1 for child in given):
            for child in given:
                self.read(child, so_far)
        elif name in _SAME and len(given) == 1 and count_of(given[0]) == 1:
            self.read(given[0], so_far)
        elif (further := _with_factor(node, name, so_far)) is not None and count_of(given[0]) == 1:
            self.read(given[0], further)
        elif name in ("Mean", "Sum") and len(given) == 1:
            self._read_sum(node, name == "Mean", given[0], so_far)
        elif of_torch.saved_reduction.is_in(node) and given:
            self._add_loss(node, given[0], so_far)
        else:
            self._add_unknown(node)

    def _add_unknown(self, node: Any) -> None:
        self._terms.append(Term(is_known=False, end=node, below=node))

    def _read_sum(self, node: Any, is_mean: bool, child: Any, so_far: Term) -> None:
        parts = children_of(child)
        if child.name().startswith(_TOGETHER) and all(count_of(part) == 1 for part in parts):
            for part in parts:  # losses one by one, not one over all samples
                self.read(part, replace(so_far, is_averaged=is_mean))
        elif count_of(child) == 1 and (self._samples > 1 or not shape_of(child)):
            self.read(child, so_far)
        else:
            count = int(of_torch.saved_numel.of(node, 0) or _reduced_count(node)) if is_mean else 1
            self._terms.append(self._ended(so_far, is_mean, count, node, child))

    def _add_loss(self, node: Any, child: Any, so_far: Term) -> None:
        reduction = of_torch.saved_reduction.of(node)
        if reduction not in (_MEAN, _SUM):
            self._add_unknown(node)
            return
        count: Any = 1
        if reduction == _MEAN:
            weights = of_torch.saved_weight_of_labels
            count = weights.of(node).detach() if weights.is_in(node) else count_of(child)
        self._terms.append(self._ended(so_far, reduction == _MEAN, count, node, child))

    def _ended(self, so_far: Term, is_mean: bool, count: Any, end: Any, child: Any) -> Term:
        """`end` put together what `child` put out, which may have put samples together already."""
        term = replace(so_far, is_mean=is_mean, count=count, end=end)
        if kind_of(end) in ("Mean", "Sum"):
            while (below := self._one_below(child, term)) is not None:
                term, child = below, children_of(child)[0]
        term.below = child
        is_plain = term.is_mean and not hasattr(term.count, "dim")
        term.of_chosen = is_plain and any(map(loss_graph.chooses, loss_graph.elementwise_below(child)))
        return term

    def _one_below(self, node: Any, so_far: Term) -> Term | None:
        """`so_far` with what this node does to each number of a sum alike; None where it is no such node."""
        name, given = kind_of(node), children_of(node)
        if (further := _with_factor(node, name, so_far)) is not None:
            return further
        if len(given) != 1:
            return None
        if name in _SAME:
            return so_far
        if name not in ("Mean", "Sum"):
            return None
        dims, shape = loss_graph.reduced_of(node)
        if 0 not in dims or shape[0] % self._samples:  # within each sample
            return so_far
        count = _reduced_count(node) if name == "Mean" else 1
        return replace(so_far, is_mean=name == "Mean", count=count)


def _reduced_count(node: Any) -> int:
    dims, shape = loss_graph.reduced_of(node)
    return math.prod(shape[dim] for dim in dims)


def _with_factor(node: Any, name: str, so_far: Term) -> Term | None:
    """`so_far` with what this node multiplies or divides by; None where that is not one number beside the graph."""
    given = children_of(node)
    if name not in ("Mul", "Div") or len(given) != 1 or (name == "Div" and node.next_functions[0][0] is None):
        return None
    other = (of_torch.saved_other if name == "Div" else of_torch.saved_factor).of(node)
    if other is None and name == "Mul":
        other = of_torch.saved_tensor.of(node)  # `number * loss`
    if other is None or (hasattr(other, "numel") and other.numel() != 1) or count_of(node) != count_of(given[0]):
        return None
    value = loss_graph.value_of(other)
    by, times = list(so_far.divisors), list(so_far.factors)
    (by if name == "Div" else times).append(value)
    return replace(so_far, divisors=by, factors=times, nodes=[*so_far.nodes, node])
