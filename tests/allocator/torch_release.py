"""Which torch this interpreter has, without importing it: that needs a virtual card's libraries."""

from __future__ import annotations

import importlib.metadata


def of_this_interpreter() -> tuple[int, int]:
    major, minor = importlib.metadata.version("torch").split(".")[:2]
    return int(major), int(minor)
