"""Operators that choose among entries: sorting, masks, indices, sizes that depend on values."""

from __future__ import annotations

from typing import Any

from vramfit.values.tracked import sized
from vramfit.values.tracked.calls import MOST_CHOSEN, Call, tensors_in
from vramfit.values.tracked.computing import plain
from vramfit.values.tracked.states import ASSUMED, UNKNOWN

_MOST_SORTED = 1 << 18


def chooses(call: Call) -> Any:
    if len(call.args) and call.operator.name == "aten::multinomial":
        return sized.draw(call.operator, call.args, call.kwargs, MOST_CHOSEN)
    state = call.least_known()
    most = _MOST_SORTED if call.operator.name == "aten::sort" else MOST_CHOSEN
    if state == UNKNOWN and call.is_small(most):
        return call.compute(ASSUMED) if call.choose_unknown(most) else call.run_on_card()
    if state != UNKNOWN and call.is_small(4 * most):
        return plain(call)
    return sized.choose_places(call.operator.name, call.run_on_card(), _entries(call))


def _entries(call: Call) -> int:
    """The number of entries that it chooses among."""
    source = call.args[0]
    for position, argument in enumerate(call.operator.arguments):
        if argument.name == "dim":
            given = call.args[position] if position < len(call.args) else call.kwargs.get("dim", argument.default)
            return max(1, source.numel() if given is None or not source.dim() else source.size(given))
    return max(1, source.numel())


def sized_by_values(call: Call) -> Any:
    if call.operator.name == "aten::repeat_interleave" and call.kwargs.get("output_size") is not None:
        return plain(call)
    return sized.run(call.operator, call.args, call.kwargs, call.choose_unknown)


def indexed(call: Call) -> Any:
    """Boolean masks become positions, as the card does inside its own `index`."""
    name, args = call.operator.name, call.args
    if not any(sized.is_mask(index) for index in args[1]) or sized.is_fill(name, args):
        return plain(call)
    if "index_put" in name:
        sized.fit_to_values(args[0], args[1], args[2])
    indices = sized.as_positions(args[1])
    wide = (args[0], indices, *args[2:])
    again = Call(call.mode, call.operator, wide, call.kwargs, tensors_in(wide, call.kwargs))
    return plain(again)
