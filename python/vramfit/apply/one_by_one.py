"""Optimizers whose step treats each parameter by itself, and keeps what it knows of it in `state` alone."""

from __future__ import annotations

from typing import Any

from vramfit.private import bitsandbytes as of_bitsandbytes

_ONE_BY_ONE = (
    *("Adadelta", "Adafactor", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"),
    "SGD",
)
_IN_EIGHT_BITS = ("Adam8bit", "AdamW8bit", "Lion8bit")


def why_not(optimizer: Any) -> str:
    """Empty for those of torch.optim that do."""
    kind = type(optimizer)
    if kind.__name__ in _ONE_BY_ONE and f"{kind.__module__}.".startswith("torch.optim."):
        return ""
    return f"{kind.__name__} is no optimizer of torch.optim that treats each parameter by itself"


def is_in_eight_bits(optimizer: Any) -> bool:
    """Those of bitsandbytes that do, as long as no parameter has settings of its own (see the next one)."""
    kind = type(optimizer)
    return kind.__name__ in _IN_EIGHT_BITS and kind.__module__.startswith("bitsandbytes.optim.")


def why_not_by_place(optimizer: Any) -> str:
    """Settings that GlobalOptimManager finds by a parameter's place among all of them. Empty: there are none."""
    if not is_in_eight_bits(optimizer):
        return ""
    manager = of_bitsandbytes.manager.of(optimizer)
    places = (of_bitsandbytes.settings_by_place, of_bitsandbytes.settings_of_modules)
    if manager is None or not all(place.is_in(manager) for place in places):
        return "this release of bitsandbytes does not tell whether it has settings for single parameters"
    return "bitsandbytes has settings for single parameters" if any(place.of(manager) for place in places) else ""


def parameters_of(owner: Any) -> list[Any]:
    """The parameters of an optimizer or a module."""
    if hasattr(owner, "param_groups"):
        return [parameter for group in owner.param_groups for parameter in group["params"]]
    return list(owner.parameters())
