"""What a model or a set of tensors is called: the script's own name for what holds it, and what such names mean."""

from __future__ import annotations

import re
from typing import Any

from vramfit.base import process
from vramfit.observe import holders

_MOST = 12  # searches a process; each walks the collector's objects a few times

# Words as they are written in names: "model_ema", "EmaModel", "vEMA", "k_cache", "past_key_values".
_AVERAGE = re.compile(
    r"(?<![a-z])v?ema(?![a-z])|[a-z]Ema(?![a-z])|^Ema|EMA|[Aa]verag|(?<![a-z])(swa|avg)(?![a-z])|[Ss]hadow|[Pp]olyak"
)
_MOMENT = re.compile(r"veloc|moment(?!um_(enc|mod|net))|exp_avg|(?<![a-z])[mv](?![a-z])", re.I)
_GRADIENT = re.compile(r"grad|accum", re.I)
_CACHE = re.compile(r"cache|past_key|(?<![a-z])(past|mems|kv)(?![a-z])|key_value", re.I)


class _State:
    def __init__(self) -> None:
        self.names: dict[int, str] = {}  # by id


_state = process.own(_State)


def of(value: Any, hidden: list[Any]) -> str:
    """The variable or attribute that holds `value`, or else its class. `hidden`: the caller's own lists."""
    known = _state.names.get(id(value))
    if known is None:
        known = _search(value, hidden) if len(_state.names) < _MOST else ""
        _state.names[id(value)] = known = known or type(value).__name__
    return known


def _search(value: Any, hidden: list[Any]) -> str:
    targets = [value]
    found = holders.find(targets, [*hidden, targets])[0]
    return found.name


def is_average(name: str) -> bool:
    return _AVERAGE.search(name) is not None


def is_moment(name: str) -> bool:
    return _MOMENT.search(name) is not None


def is_gradient(name: str) -> bool:
    return _GRADIENT.search(name) is not None


def is_cache(name: str) -> bool:
    return _CACHE.search(name) is not None
