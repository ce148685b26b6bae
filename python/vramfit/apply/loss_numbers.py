"""Numbers of Python's that a sum over samples is divided by: how many samples there are, or what the script has set?

    loss.sum() / x.size(0)      of a part that has 8 samples it is 8: a mean in effect
    loss.sum() / batch_size     16, as of the whole batch: the sum
    0.5 * loss.sum()            the sum

Only the number is seen. One that is that of a part's samples, or of numbers in what is summed, is taken for it; one
that the script writes down, or is no whole one, for its own setting. Of others it shows where parts differ in it.
"""

from __future__ import annotations

import functools
import inspect
import math
from typing import Any, Literal

from vramfit.apply import loss_graph, script_numbers, torch_script
from vramfit.apply.loss_terms import Term
from vramfit.apply.split_sampler import Share

Kind = Literal["constant", "count", "unknown"]
Known = Literal["", "constant", "count", "varying"]  # by the batches before
_CLOSE = 1e-9
_SAMPLES = "vramfit_samples"  # that a node divides by: not the script but PyTorch had them counted


def watch_means_by_samples(torch: Any) -> None:
    """`reduction="batchmean"` divides a sum by its samples, whatever numbers the script has."""
    functional = torch.nn.functional
    original = functional.kl_div
    names = list(inspect.signature(original).parameters)

    @functools.wraps(original)
    def kl_div(*args: Any, **kwargs: Any) -> Any:
        loss = original(*args, **kwargs)
        given = {**dict(zip(names, args)), **kwargs}
        if given.get("reduction") == "batchmean" and loss.grad_fn is not None:
            loss.grad_fn.metadata[_SAMPLES] = float(len(given["input"]))
        return loss

    functional.kl_div = kl_div
    torch_script.hide_from(torch, functional, "kl_div")


def kind_of(term: Term, share: Share) -> Kind:
    """What the numbers among its divisors are, all together."""
    counts, others = _counts(term, share)
    kinds = {_kind_of_divisor(each, counts, others) for each in term.divisors if not hasattr(each, "dim")}
    kinds |= {_kind_of_factor(each, counts) for each in term.factors if not hasattr(each, "dim")}
    return "count" if "count" in kinds else "unknown" if "unknown" in kinds else "constant"


def twofold(term: Term, share: Share) -> str:
    """What may be a number of samples, and is one that the script has by itself; empty: nothing in this sum."""
    counts, _ = _counts(term, share)
    script = script_numbers.of_script()
    of_library = {node.metadata.get(_SAMPLES) for node in term.nodes}
    for each in term.divisors:
        if not hasattr(each, "dim") and each in counts and each in script.divisors - of_library:
            return f"the {each:g} that a sum is divided by was taken for a number of samples of its part"
    for each in term.factors:
        if not hasattr(each, "dim") and script.has_inverses and abs(each) in script.all and _is_inverse(each, counts):
            return (
                f"the {each:g} that a sum is multiplied by was taken for the script's own, and not for one over a size"
            )
    return ""


def is_count_below(value: float, term: Term, share: Share) -> bool:
    """Whether it counts part of a term, as the divisor of each number that is summed does."""
    counts, others = _counts(term, share)
    return _kind_of_divisor(value, counts, others) == "count" and value not in script_numbers.of_script().divisors


def times_samples(term: Term, share: Share) -> float | None:
    """A factor of a mean that may be the number of its samples, of which it makes a sum."""
    counts, _ = _counts(term, share)
    numbers = [each for each in term.factors if not hasattr(each, "dim")]
    return next((each for each in numbers if each != 1 and each in counts - script_numbers.of_script().times), None)


def _kind_of_divisor(value: float, counts: set[int], others: set[int]) -> Kind:
    if abs(value - round(value)) > _CLOSE * abs(value):
        return "constant"
    if value in counts:
        return "count"
    return "constant" if value in (0, 1) or value in others or value in script_numbers.of_script().all else "unknown"


def _kind_of_factor(value: float, counts: set[int]) -> Kind:
    if not value or abs(value) in script_numbers.of_script().all:
        return "constant"
    return "unknown" if _is_inverse(value, counts) else "constant"


def _is_inverse(value: float, counts: set[int]) -> bool:
    return bool(value) and any(abs(1 / abs(value) - count) <= _CLOSE * count for count in counts)


def _counts(term: Term, share: Share) -> tuple[set[int], set[int]]:
    """Numbers of samples or of what hangs on them, and numbers that do not, in the part at hand."""
    counts, others = {share.size}, {share.of}
    for node in loss_graph.elementwise_below(term.below):
        shape = loss_graph.shape_of(node)
        prefixes = [math.prod(shape[:end]) for end in range(1, len(shape) + 1)]
        if shape and shape[0] % share.size == 0:
            counts.update(prefixes)
            others.update(each * share.of // share.size for each in prefixes)
            others.update(math.prod(shape[begin:end]) for end in range(2, len(shape) + 1) for begin in range(1, end))
    return counts, others - counts
