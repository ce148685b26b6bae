"""Replaced functions of torch. torch.compile traces Python and stumbles over them: before it they are put back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_originals: list[tuple[Any, str, Any]] = []


def replace(place: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Puts make(original) in the place of a function, under its name and documentation."""
    original = getattr(place, name)
    replacement = functools.wraps(original)(make(original))
    _originals.append((place, name, original))
    setattr(place, name, replacement)
    _keep_scriptable(original, replacement)


def _keep_scriptable(original: Any, replacement: Any) -> None:
    """TorchScript knows torch's functions by identity: the replacement means the same operator."""
    import torch

    table = torch.jit._builtins._get_builtin_table()
    if id(original) in table:
        table[id(replacement)] = table[id(original)]


def put_back() -> None:
    while _originals:
        setattr(*_originals.pop())


def stop_before_compile(torch: Any) -> None:
    compiler = torch.compile

    @functools.wraps(compiler)
    def call(*args: Any, **kwargs: Any) -> Any:
        put_back()
        return compiler(*args, **kwargs)

    torch.compile = call
