"""Losses that set the samples of a batch against each other: in parts each sample meets those of its own part alone.

    F.cross_entropy(a @ b.T, arange)        a table of all pairs
    (z[:, None] - z[None]).norm(dim=2)      the same, by broadcasting
    each.topk(8), each.softmax(0)           along the batch
    F.relu(1 - z.std(0)).mean()             statistics over it; a mean is one too where something bends it afterwards
    F.triplet_margin_loss(z, z[p], z[n])    samples beside others

Read from autograd's graph between a loss's end and the last layers with weights, by shapes: an axis that is as long as
a part has samples is theirs. What was worked out without a graph (weights that were made to add up to one, places of
the hardest samples) is not seen, nor are pairs in parts of one sample, but for a plain product.
"""

from __future__ import annotations

import math
from typing import Any

from vramfit.apply import loss_graph
from vramfit.apply.loss_graph import children_of, count_of, kind_of, shape_of
from vramfit.apply.loss_terms import Term
from vramfit.private import torch as of_torch

_MOST_NODES = 400  # of a term
_VIEWS: tuple[str, ...] = (
    "Alias",
    "Clone",
    "Expand",
    "Permute",
    "ReshapeAlias",
    "Squeeze",
    "T",
    "ToCopy",
    "Transpose",
    "Unsqueeze",
)
_VIEWS += ("UnsafeView", "View", "torch::autograd::CopySlices")
_CUT = ("Narrow", "Slice", "Split", "SplitWithSizes")
_PIECES = (*_CUT, "Index", "IndexSelect", "Select", "Unbind")
_JOINED = ("Cat", "Stack")
_SUMS = ("Mean", "Sum")
_LINEAR = frozenset((*_VIEWS, *_PIECES, *_JOINED, *_SUMS, "Add", "Div", "Mul", "Neg", "Rsub", "Sub"))
_PRODUCTS = ("Mm", "Addmm", "Bmm", "Baddbmm")
_OF_ONE = ("Mm", "Cdist")  # which make no table of what a sample is by itself


def find(term: Term, samples: int) -> str:
    """What does so in this term of the loss of a part with so many samples; empty: nothing is seen."""
    seen: set[tuple[Any, bool]] = set()
    taken: dict[Any, set[Any]] = {}  # of what has a row for each sample: the pieces that are used, None: all of it
    waiting = [(term.end, True)]  # and whether all above it is linear
    while waiting and len(seen) < _MOST_NODES:
        node, is_linear = waiting.pop()
        if (node, is_linear) in seen or _is_layer(node):
            continue
        seen.add((node, is_linear))
        if (what := _what_mixes(node, is_linear, samples)) and not loss_graph.is_of_parameters(node):
            return what
        is_linear = is_linear and _is_linear(node)
        for child, number in ((child, number) for child, number in node.next_functions if child is not None):
            if shape_of(child)[:1] == (samples,):
                taken.setdefault(child, set()).add(_piece(node, number, samples))
            waiting.append((child, is_linear))
    if any(len(pieces) > 1 and pieces != {None} for pieces in taken.values()):
        return "samples beside others of the batch"
    return ""


def _is_linear(node: Any) -> bool:
    kind, operands = kind_of(node), node.next_functions
    if kind in ("Div", "Mul"):  # by a number, or by what has no gradient
        return len(children_of(node)) == 1 and (kind == "Mul" or operands[0][0] is not None)
    return kind in _LINEAR


def _is_layer(node: Any) -> bool:
    """Where the network begins: the last layers that have weights."""
    kind = kind_of(node)
    if not kind.startswith(loss_graph.LAYERS):
        return False
    if kind not in _PRODUCTS:
        return True
    saved = (of_torch.saved_tensor.of(node), of_torch.saved_matrix.of(node))
    frozen = [one for each in saved if each is not None for one in (each, of_torch.base.of(each))]
    return any(map(_is_parameter, frozen)) or any(map(loss_graph.is_of_parameters, children_of(node)))


def _is_parameter(tensor: Any) -> bool:
    return any(kind.__name__ == "Parameter" for kind in type(tensor).__mro__)


def _what_mixes(node: Any, is_linear: bool, samples: int) -> str:
    kind, shape, given = kind_of(node), shape_of(node), [shape_of(child) for child in children_of(node)]
    if kind in _VIEWS or kind in _JOINED or of_torch.saved_reduction.is_in(node):
        return ""
    if kind in _CUT:
        is_some = samples > 1 and given[0][:1] == (samples,) and 1 < shape[0] < samples
        return "samples that are chosen by their places in the batch" if is_some and len(shape) == len(given[0]) else ""
    if _is_table(node, samples):
        return f"a table of pairs of samples ({kind} {'x'.join(map(str, shape))})"
    if kind in _PRODUCTS and _is_summed_over(node, shape, samples):
        return f"a product that is a sum over all samples ({kind} {'x'.join(map(str, shape))})"
    if kind in _PIECES or not given or not _has_samples(given[0], samples):
        return ""
    if kind in _SUMS:
        is_bent = not is_linear and 0 in loss_graph.reduced_of(node)[0]
        return f"something that is not linear in a {kind.lower()} over all samples" if is_bent else ""
    is_along = kind not in _PRODUCTS and _goes_along(node, count_of(node), given[0])
    return f"{kind} along the samples of the batch" if is_along else ""


def _is_table(node: Any, samples: int) -> bool:
    """Whether it has two axes of samples, and nothing that it is made of has."""
    kind, shape, given = kind_of(node), shape_of(node), [shape_of(child) for child in children_of(node)]
    if _is_outer(node, samples):
        return True
    if samples == 1:
        return (kind in _OF_ONE and shape in ((1, 1), (2, 2))) or (kind == "Bmm" and shape == (1, 1, 1))
    rest = shape[1:] if shape[:1] == (1,) else shape
    lengths = (samples, 2 * samples)  # of two views
    return any(
        rest[:1] == (length,) and rest.count(length) > 1 and all(each.count(length) < 2 for each in given)
        for length in lengths
    )


def _is_outer(node: Any, samples: int) -> bool:
    """Whether it puts `z[:, None]` beside `z[None]`."""
    views = [child for child in children_of(node) if kind_of(child) == "Unsqueeze"]
    of_samples = [view for view in views if shape_of(children_of(view)[0])[:1] == (samples,)]
    return {loss_graph.signed(of_torch.saved_dim.of(view)) for view in of_samples} >= {0, 1}


def _is_summed_over(node: Any, shape: tuple[int, ...], samples: int) -> bool:
    """Whether the axis that a product of two matrices sums over is that of the samples."""
    left, right = (child for child, _ in node.next_functions[-2:])
    summed = shape_of(left)[-1] if left is not None else shape_of(right)[-2]
    is_batch = len(shape) > 2 and (shape[0] != 1 or samples == 1)
    return not is_batch and summed in (samples, 2 * samples) and summed not in shape


def _has_samples(shape: tuple[int, ...], samples: int) -> bool:
    """Whether its first axis is that of the samples, or of all that they have."""
    if not shape or samples == 1:
        return shape[:1] == (1,)
    return shape[0] % samples == 0 if len(shape) == 1 else shape[0] in (samples, 2 * samples)


def _goes_along(node: Any, count: int, given: tuple[int, ...]) -> bool:
    """Whether it works along its first axis: what names none works along all."""
    named = [of_torch.saved_dim.of(node), of_torch.saved_dims.of(node)]
    if all(dims is None or dims == () for dims in named):
        return count == 1 < math.prod(given)
    dims = [dim for each in named if each is not None for dim in (each if isinstance(each, (tuple, list)) else (each,))]
    return any(loss_graph.signed(dim) % len(given) == 0 for dim in dims)


def _piece(node: Any, number: int, samples: int) -> Any:
    """Which of the samples this node takes of what it was given; None: all of them."""
    kind = kind_of(node)
    if samples == 1 and kind != "Index":
        return None
    if kind in ("Unbind", "Split", "SplitWithSizes"):
        return node, number
    if kind == "Index":
        indices = of_torch.saved_indices.of(node) or ()
        places = [index for index in indices if index is not None]
        is_lookup = len(places) == 1 and indices[0] is not None and str(places[0].dtype) == "torch.int64"
        return node if is_lookup else None
    if kind not in _PIECES or loss_graph.signed(of_torch.saved_dim.of(node, 1)) != 0:
        return None
    return node if shape_of(node) != shape_of(children_of(node)[0]) or kind == "IndexSelect" else None
