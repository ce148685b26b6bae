"""Numbers of Python's that a sum over samples is divided by: how many samples there are, or what the script has set?

    loss.sum() / x.size(0)      of a part that has 8 samples it is 8: a mean in effect
    loss.sum() / batch_size     16, as of the whole batch: the sum
    0.5 * loss.sum()            the sum

Only the number is seen. One that is that of a part's samples, or of numbers in what is summed, is taken for it; one
that the script writes down, or is no whole one, for its own setting. Of others it shows where parts differ in it.
"""

from __future__ import annotations

import ast
import math
import os
import sys
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from vramfit.apply import loss_graph
from vramfit.apply.loss_terms import Term
from vramfit.apply.split_sampler import Share
from vramfit.base import process

Kind = Literal["constant", "count", "unknown"]
Known = Literal["", "constant", "count", "varying"]  # by the batches before
_CLOSE = 1e-9
_LIBRARY = ("/site-packages/", "/dist-packages/", "/lib/python", os.path.dirname(os.path.dirname(__file__)))
_MOST_FILES, _MOST_CHARACTERS = 200, 400_000
_DIVIDING = ("div", "divide", "true_divide")


def kind_of(term: Term, share: Share) -> Kind:
    """What the numbers among its divisors are, all together."""
    counts, others = _counts(term, share)
    kinds = {_kind_of_divisor(each, counts, others) for each in term.divisors if not hasattr(each, "dim")}
    kinds |= {_kind_of_factor(each, counts) for each in term.factors if not hasattr(each, "dim")}
    return "count" if "count" in kinds else "unknown" if "unknown" in kinds else "constant"


def is_twofold(term: Term, share: Share) -> float | None:
    """A divisor that was taken for a number of samples, and that the script divides something by as it stands."""
    counts, _ = _counts(term, share)
    numbers = [each for each in term.divisors if not hasattr(each, "dim")]
    return next((each for each in numbers if each in counts and each in _numbers_of_script().divisors), None)


def is_count_below(value: float, term: Term, share: Share) -> bool:
    """Whether it counts part of a term, as the divisor of each number that is summed does."""
    counts, others = _counts(term, share)
    return _kind_of_divisor(value, counts, others) == "count" and value not in _numbers_of_script().divisors


def times_samples(term: Term, share: Share) -> float | None:
    """A factor of a mean that may be the number of its samples, of which it makes a sum."""
    counts, _ = _counts(term, share)
    numbers = [each for each in term.factors if not hasattr(each, "dim")]
    return next((each for each in numbers if each != 1 and each in counts - _numbers_of_script().times), None)


def _kind_of_divisor(value: float, counts: set[int], others: set[int]) -> Kind:
    if abs(value - round(value)) > _CLOSE * abs(value):
        return "constant"
    if value in counts:
        return "count"
    return "constant" if value in (0, 1) or value in others or value in _numbers_of_script().all else "unknown"


def _kind_of_factor(value: float, counts: set[int]) -> Kind:
    if not value or abs(value) in _numbers_of_script().all:
        return "constant"
    inverse = 1 / abs(value)
    return "unknown" if any(abs(inverse - count) <= _CLOSE * count for count in counts) else "constant"


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


class _Numbers(NamedTuple):
    """Those in the script's source and on its command line."""

    all: frozenset[float]
    divisors: frozenset[float]  # what something is divided by
    times: frozenset[float]  # what something is multiplied by, and what has a name of its own


@process.cached()
def _numbers_of_script() -> _Numbers:
    found: tuple[set[float], ...] = (set(), set(), set())
    for word in sys.argv[1:]:
        try:
            number = float(word.rpartition("=")[2])
        except ValueError:
            continue
        found[0].add(number)
        found[2].add(number)
    for path in _files_of_script():
        try:
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read(_MOST_CHARACTERS))
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            for numbers, nodes in zip(found, ([node], _divided_by(node), _multiplied_or_named(node))):
                numbers.update(value for each in nodes for value in _numbers(each))
    return _Numbers(*map(frozenset, found))


def _files_of_script() -> list[str]:
    paths = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    own = {path for path in paths if path and path.endswith(".py") and not any(each in path for each in _LIBRARY)}
    return sorted(own)[:_MOST_FILES]


def _numbers(node: Any) -> list[float]:
    value = node.value if isinstance(node, ast.Constant) else None
    return [float(value)] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def _divided_by(node: Any) -> Iterator[Any]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield node.right
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
        yield node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _DIVIDING:
        yield from node.args


def _multiplied_or_named(node: Any) -> Iterator[Any]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from (node.left, node.right)
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.keyword)) and node.value is not None:
        yield node.value
    elif isinstance(node, ast.FunctionDef):
        yield from (each for each in (*node.args.defaults, *node.args.kw_defaults) if each is not None)
    elif isinstance(node, ast.Dict):
        yield from node.values
