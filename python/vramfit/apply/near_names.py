"""Finds the name that a plan meant when it names something that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SHOWN = 3
_ALIKE = 0.5  # of difflib's ratio: "layer.1" and "layers.1" have 0.93, "backbone" and "head" 0.33


def instead_of(name: str, known: Iterable[str]) -> str:
    """Continues a sentence: "; did you mean layers.1, layers.2?", or the first that there are; empty where none are."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=_SHOWN, cutoff=_ALIKE)
    if near:
        return f"; did you mean {', '.join(near)}?"
    if not names:
        return ""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"; there are {', '.join(names[:_SHOWN])}{more}"
