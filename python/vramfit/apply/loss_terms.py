"""What a loss is made of, read from autograd's graph before a backward pass: sums and means of many numbers, and what
each was divided by on its way into the loss.

    loss = (l * mask).sum() / mask.sum() + 0.1 * kl.mean()
      term 1: a sum, divided by mask.sum(), a number that is made of the batch
      term 2: a mean over kl.numel() numbers

Only the loss's end is read, where there is one number: what went before is a matter of samples.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from vramfit.private import torch as of_torch

_MOST_NODES = 400
_MOST_BELOW = 64  # nodes that are looked at for a mask
# Parts of the names of autograd's nodes, whose one number is that of what they were given.
_SAME = ("Neg", "ToCopy", "Clone", "Squeeze", "View", "UnsafeView", "ReshapeAlias", "Unsqueeze", "Expand", "Alias")
_TOGETHER = ("Stack", "Cat")
_KINDS = MappingProxyType(
    {"torch.int64": ctypes.c_int64, "torch.float64": ctypes.c_double, "torch.bool": ctypes.c_bool}
)
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

    def key(self) -> tuple[Any, ...]:
        """The same for terms that were divided by the same."""
        own = [_identity(value) for value in (self.count, *self.divisors, *self.factors)]
        return (self.is_known, self.is_mean, self.of_chosen, *own)


def _identity(value: Any) -> Any:
    return (value.data_ptr(), value.dtype) if hasattr(value, "dim") else value


def terms_of(roots: list[Any]) -> list[Term]:
    """None is known of a root that is no single number."""
    terms: list[Term] = []
    left = [_MOST_NODES]
    for root in roots:
        if root.numel() != 1:
            terms.append(Term(is_known=False))
        elif root.grad_fn is not None:
            _read(root.grad_fn, Term(), terms, left)
    return terms


def _read(node: Any, so_far: Term, terms: list[Term], left: list[int]) -> None:
    left[0] -= 1
    children = [child for child, _ in node.next_functions]
    given = [child for child in children if child is not None]
    name = node.name().partition("Backward")[0]
    if left[0] < 0:
        terms.append(Term(is_known=False))
    elif name in ("Add", "Sub") and all(_numel(child) == 1 for child in given):
        for child in given:
            _read(child, so_far, terms, left)
    elif name in _SAME and len(given) == 1 and _numel(given[0]) == 1:
        _read(given[0], so_far, terms, left)
    elif name in ("Mul", "Div") and (further := _with_factor(node, name, children, so_far)) is not None:
        _read(given[0], further, terms, left)
    elif name in ("Mean", "Sum") and len(given) == 1:
        _read_sum(node, name == "Mean", given[0], so_far, terms, left)
    elif of_torch.saved_reduction.is_in(node) and given:
        terms.append(_term_of_loss(node, given[0], so_far))
    else:
        terms.append(Term(is_known=False))


def _read_sum(node: Any, is_mean: bool, child: Any, so_far: Term, terms: list[Term], left: list[int]) -> None:
    parts = [part for part, _ in child.next_functions if part is not None]
    if _numel(child) == 1:
        _read(child, so_far, terms, left)
    elif child.name().startswith(_TOGETHER) and all(_numel(part) == 1 for part in parts):
        for part in parts:  # losses one by one, not one over all samples
            _read(part, so_far, terms, left)
    else:
        count = int(of_torch.saved_numel.of(node, 1)) if is_mean else 1
        terms.append(_ended(so_far, is_mean, count, node, child))


def _term_of_loss(node: Any, child: Any, so_far: Term) -> Term:
    reduction = of_torch.saved_reduction.of(node)
    if reduction not in (_MEAN, _SUM):
        return Term(is_known=False)
    count: Any = 1
    if reduction == _MEAN:
        weights = of_torch.saved_weight_of_labels
        count = weights.of(node).detach() if weights.is_in(node) else _numel(child)
    return _ended(so_far, reduction == _MEAN, count, node, child)


def _ended(so_far: Term, is_mean: bool, count: Any, node: Any, child: Any) -> Term:
    chosen = is_mean and not hasattr(count, "dim") and any(map(_chooses, _elementwise_below(child)))
    return Term(True, is_mean, count, so_far.divisors, so_far.factors, so_far.nodes, chosen)


def _with_factor(node: Any, name: str, children: list[Any], so_far: Term) -> Term | None:
    """`so_far` with what this node multiplies or divides by; None where that is not one number beside the graph."""
    given = [child for child in children if child is not None]
    if len(given) != 1 or _numel(given[0]) != 1 or (name == "Div" and children[0] is None):
        return None
    other = (of_torch.saved_other if name == "Div" else of_torch.saved_factor).of(node)
    if other is None and name == "Mul":
        other = of_torch.saved_tensor.of(node)  # `number * loss`
    if other is None or (hasattr(other, "numel") and other.numel() != 1):
        return None
    value = _value_of(other)
    by, times = list(so_far.divisors), list(so_far.factors)
    (by if name == "Div" else times).append(value)
    return Term(divisors=by, factors=times, nodes=[*so_far.nodes, node])


def _value_of(other: Any) -> Any:
    if not hasattr(other, "dim"):
        return float(other)
    if other.is_cuda:
        return other.detach().reshape(())
    # A number of Python's that stands in for a tensor has no item() while somebody looks at every operator.
    kind = _KINDS.get(str(other.dtype))
    return float(kind.from_address(other.data_ptr()).value if kind is not None else other.item())  # type: ignore[attr-defined]


def _numel(node: Any) -> int:
    """How many numbers its forward put out; 0 for a weight given to the loss as it is: it stands for no output."""
    metadata = of_torch.input_metadata.of(node)
    return math.prod(int(length) for length in metadata[0].shape) if metadata else 0


def _elementwise_below(node: Any) -> Iterator[Any]:
    """The nodes below that have as many numbers, down to the first of others: those are looked at too."""
    waiting, seen = [node], {node}
    count = _numel(node)
    while waiting and len(seen) < _MOST_BELOW:
        each = waiting.pop()
        yield each
        for child, _ in each.next_functions:
            if child is not None and child not in seen and _numel(child) == count:
                seen.add(child)
                waiting.append(child)


def _chooses(node: Any) -> bool:
    name = node.name()
    if name.startswith("MaskedSelect"):
        return True
    indices = of_torch.saved_indices.of(node) if name.startswith("IndexBackward") else None
    return any(str(index.dtype) in ("torch.bool", "torch.uint8") for index in indices or () if index is not None)
