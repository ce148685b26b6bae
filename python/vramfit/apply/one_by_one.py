"""Optimizers whose step treats each parameter by itself, and keeps what it knows of it in `state` alone."""

from __future__ import annotations

from typing import Any

_ONE_BY_ONE = (
    *("Adadelta", "Adafactor", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"),
    "SGD",
)


def why_not(optimizer: Any) -> str:
    """Empty for those of torch.optim that do."""
    kind = type(optimizer)
    if kind.__name__ in _ONE_BY_ONE and f"{kind.__module__}.".startswith("torch.optim."):
        return ""
    return f"{kind.__name__} is no optimizer of torch.optim that treats each parameter by itself"
