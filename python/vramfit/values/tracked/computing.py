"""Operators that are computed where their inputs have values: arithmetic, comparisons, masks, counts, optimizers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from vramfit.private import operators as of_operators
from vramfit.private.operators import names_of
from vramfit.values.mode import Twice
from vramfit.values.tracked import redrawing, sized
from vramfit.values.tracked.calls import (
    MOST_CHOSEN,
    MOST_GIVEN,
    MOST_RANDOM,
    MOST_READ,
    Call,
    is_discrete,
    putting,
    tensors_in,
)
from vramfit.values.tracked.states import ASSUMED, KNOWN, OPEN, UNKNOWN, host, put, set_state, state_of

_MOST_PRODUCTS = 1 << 24  # multiplications of a matrix product
_MOST_COUNTED = 1 << 10  # of an operator over lists of tensors: counts of steps, not weights
_MOST_MASKED = 1 << 14  # a masked tensor of more than two dimensions that is given values: mostly attention scores
_LOWEST = -1e4  # and what is below it: scores of what attention must not look at
# Words of names.
_COMPUTED_WHERE_SMALL = ("nll_loss", "linalg", of_operators.distance.word, "upsample", "roi_", "max_pool")
_MASKED = names_of("masked_fill masked_fill_ where index_fill index_fill_ scatter scatter_")
_NEVER_TRUE = ("aten::isnan", "aten::isinf", "aten::isposinf", "aten::isneginf", "aten::signbit")


def plain(call: Call) -> Any:
    state = call.least_known()
    if state == UNKNOWN:
        return unknown(call)
    if not call.is_small() or (call.operator.multiplies and _products(call.tensors) > _MOST_PRODUCTS):
        return call.run_on_card()
    if call.operator.is_random and not call.is_small(MOST_RANDOM) or _is_added_to_scores(call):
        return call.run_on_card()
    return call.compute(ASSUMED if state == OPEN else state)


def _is_added_to_scores(call: Call) -> bool:
    """A large mask of 0 and -inf, which PyTorch's attention makes anew in every layer: its scores are unknown."""
    if call.operator.name != "aten::where" or len(call.args) != 3 or call.args[0].numel() <= MOST_GIVEN:
        return False
    chosen = call.args[1:]
    if not all(isinstance(one, Tensor) and one.numel() == 1 and one.is_floating_point() for one in chosen):
        return False
    low, high = sorted((host(one) if one.is_cuda else one).item() for one in chosen)
    return bool(low <= _LOWEST and high == 0)


def unknown(call: Call) -> Any:
    """Floating-point outputs stay unknown; whole numbers and booleans are computed from chosen values."""
    name, args = call.operator.name, call.args
    if name in _MASKED and call.is_small(_MOST_MASKED if call.tensors[0].dim() > 2 else MOST_CHOSEN):
        others = [tensor for tensor in call.tensors if not tensor.is_floating_point()]
        if all(state_of(tensor) >= ASSUMED for tensor in others) and call.choose_unknown(MOST_CHOSEN):
            return call.compute(ASSUMED)  # a constraint: what is ruled out here must not be chosen later
    written = call.operator.written(args, call.kwargs)
    if written:
        if any(is_discrete(tensor) for tensor in written) and call.choose_unknown(MOST_CHOSEN):
            return call.compute(ASSUMED)
        return call.run_on_card()
    result = call.on_card()
    outputs = [tensor for tensor in tensors_in((result,), {}) if tensor.is_cuda and is_discrete(tensor)]
    if not outputs:
        return result
    if name in _NEVER_TRUE:
        for output in outputs:
            set_state(output, ASSUMED)
    elif all(output.numel() <= MOST_CHOSEN for output in outputs) and call.choose_unknown(MOST_CHOSEN):
        twice = Twice(call.operator, args, call.kwargs, putting(ASSUMED))
        if (values := twice.try_on_host()) is not None:
            return twice.bring_together(result, values)
    return result


def compares(call: Call) -> Any:
    state = call.least_known()
    if state >= ASSUMED:
        chosen = any(tensor.is_floating_point() and state_of(tensor) < KNOWN for tensor in call.tensors)
        return call.compute(OPEN) if chosen and call.is_small() else plain(call)
    first, other = call.args[0], call.args[1]
    if call.is_small(MOST_CHOSEN) and call.choose_unknown(MOST_CHOSEN):
        return call.compute(OPEN)
    result = call.run_on_card()
    same = isinstance(other, Tensor) and other is first
    if (same and call.operator.name in ("aten::ne", "aten::lt", "aten::gt")) or _is_outside(call.operator.name, other):
        set_state(result, ASSUMED)  # never true
    return result


def _is_outside(name: str, bound: Any) -> bool:
    """Whether the comparison with a number is false of everything in (0, 1)."""
    if isinstance(bound, Tensor):
        return False
    return (name in ("aten::lt", "aten::le") and bound <= 0) or (name in ("aten::gt", "aten::ge") and bound >= 1)


def arranges(call: Call) -> Any:
    """Masks out of masks, among others: open as those it was made of."""
    state = call.least_known()
    masks = all(tensor.dtype == torch.bool for tensor in call.tensors)
    if state == OPEN and masks and call.is_small():
        return call.compute(OPEN)
    return plain(call)


def counts(call: Call) -> Any:
    source = call.args[0]
    if source.dtype != torch.bool or source.numel() == 0:
        return plain(call)
    name, state = call.operator.name, state_of(source)
    if name == "aten::any":
        return _any(call, state)
    if name == "aten::all":
        return _fill_all(call, 1) if state in (OPEN, UNKNOWN) else plain(call)
    if state == UNKNOWN and not call.is_small():
        return _fill_all(call, None)
    sized.take_for_full(source)
    return plain(call)


def _any(call: Call, state: int) -> Any:
    result = plain(call) if state != UNKNOWN or call.is_small() else _fill_all(call, 1)
    if result.numel() == 1 and state in (OPEN, UNKNOWN) and host(result).item() and redrawing.is_over():
        put(result, torch.tensor(False), ASSUMED)
    return result


def _fill_all(call: Call, value: int | None) -> Any:
    """Everything of the output: `value`, or as many as were added up."""
    result = call.run_on_card()
    if result.numel() <= MOST_CHOSEN and result.numel() > 0:
        count = call.args[0].numel() // result.numel() if value is None else value
        put(result, torch.tensor(count, dtype=result.dtype), ASSUMED)
    return result


def heavy(call: Call) -> Any:
    if of_operators.find_overflows.begins(call.operator.name):
        return call.on_card()  # found_inf stays 0, and gradients are known as they were
    small = any(word in call.operator.name for word in _COMPUTED_WHERE_SMALL)
    if small and call.is_small(MOST_READ) and call.least_known() >= ASSUMED:
        return plain(call)
    return call.run_on_card()


def each(call: Call) -> Any:
    """What an optimizer does to all of its tensors at once. Small ones are computed each by itself: an Adam whose
    state is on the card reads its count of steps in every step."""
    lists = [value for value in (*call.args, *call.kwargs.values()) if isinstance(value, (list, tuple))]
    small = [i for i, tensor in enumerate(lists[0]) if isinstance(tensor, Tensor) and tensor.numel() <= _MOST_COUNTED]
    computed = []
    for number in small:
        entry = call.entry(number, len(lists[0]))
        state = entry.least_known()
        if state == UNKNOWN or not entry.is_small(_MOST_COUNTED):
            continue
        put_as = putting(ASSUMED if state == OPEN else state)
        twice = Twice(entry.operator, entry.args, entry.kwargs, put_as)
        values = twice.try_on_host()
        if twice.ran:
            computed.append((number, twice, values))
    result = call.run_on_card()
    for number, twice, values in computed:
        twice.bring_together(None if result is None else [result[number]], values)
    return result


def _products(tensors: list[Tensor]) -> int:
    """Multiplications of a matrix product, at most."""
    first, second = tensors[-2], tensors[-1]
    return first.numel() * (second.size(-1) if second.dim() > 1 else 1)
