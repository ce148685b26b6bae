"""Losses that are put together sample by sample: each term is a mean within one sample, and the loss is their sum.

    sum(F.mse_loss(o, t) for o, t in zip(out, y))       terms of a batch of 8: 8, of a part of 2: 2
    for a, b in zip(x, y): loss = loss + F.mse_loss(model(a), b)

A mean that is taken over samples is there once, however many there are. A term is one of a single sample where it is
made of one row of what has a row for each sample, or where there are as many terms, or so many times that, of which
none has an axis of the samples. In parts of one sample nothing tells of a network that is called for each by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vramfit.apply import loss_graph
from vramfit.apply.loss_graph import children_of, kind_of, shape_of
from vramfit.apply.loss_terms import Term
from vramfit.private import torch as of_torch

_ROWS = ("Select", "Slice", "Unbind", "Split", "SplitWithSizes")


def mark(terms: list[Term], samples: int, is_own: Callable[[Term], bool]) -> bool:
    """Makes sums over samples of those among the means that are of single samples. False: nothing tells whether some
    are. `is_own`: whether a term is made of weights alone."""
    means = [term for term in terms if term.is_known and term.is_mean and not term.is_averaged]
    found = {id(term): _rows_below(term, samples) for term in means}
    without = [term for term in means if found[id(term)] is None and not _has_samples(term, samples)]
    are_many = samples > 1 and len(without) >= samples and not any(map(is_own, without))
    singles = [term for term in means if found[id(term)] == "row"]
    if are_many and len(without) % samples == 0:
        singles += without
    for term in singles:
        term.is_mean, term.count = False, 1
    return "unsure" not in found.values()


def _has_samples(term: Term, samples: int) -> bool:
    shape = shape_of(term.below)
    return bool(shape) and shape[0] % samples == 0


def _rows_below(term: Term, samples: int) -> str | None:
    """Whether it is made of one row of what has one for each sample; None where it is made of no such rows at all."""
    for node in loss_graph.of_loss_below(term.below):
        if (source := _source(node)) is None:
            continue
        if source[0] != samples and (source[0] != 2 * samples or len(shape_of(node)) == len(source)):
            continue  # nor one half of two views
        if source[1:2] != (samples,):
            return "row"
        if source[0] == samples:
            return "unsure"  # steps of sequences, of which there are as many
    return None


def _source(node: Any) -> tuple[int, ...] | None:
    """The shape of what it takes one row of."""
    if kind_of(node) not in _ROWS or loss_graph.signed(of_torch.saved_dim.of(node, 1)) != 0:
        return None
    given = shape_of(children_of(node)[0])
    is_row = len(shape_of(node)) < len(given) or shape_of(node)[0] == 1 < given[0]
    return given if is_row else None
