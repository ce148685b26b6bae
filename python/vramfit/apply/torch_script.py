"""TorchScript that a job makes (torch.jit.script, torch.jit.trace) while a plan is in force.

It reads the source of functions and forwards, or runs them once and writes down what they do: in both cases it is to
find PyTorch's own, and not what a technique put there. What it made works by itself from then on, so a technique that
has changed a network already says so before.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from vramfit.base import frames, process

_MAKERS = ("script", "trace", "trace_module")


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.is_watched = self.is_made = False
        self.making = 0
        self.before: list[Callable[[Any], None]] = []
        self.replaced: list[tuple[Any, str]] = []


_state = process.own(_State)


def is_made() -> bool:
    """Whether the script itself had any made, and not a library."""
    return _state.is_made


def is_being_made() -> bool:
    """A trace is also compared with what the network itself puts out."""
    return bool(_state.making)


def before_made(torch: Any, call: Callable[[Any], None]) -> None:
    """Calls it with each network that the script has TorchScript made of."""
    _watch(torch)
    _state.before.append(call)


def hide_from(torch: Any, owner: Any, *names: str) -> None:
    """TorchScript finds there what was there before any of our functions."""
    _watch(torch)
    _state.replaced += [(owner, name) for name in names]


def _watch(torch: Any) -> None:
    if not _state.is_watched:
        _state.is_watched = True
        for name in _MAKERS:
            setattr(torch.jit, name, _making(torch, getattr(torch.jit, name)))


def _making(torch: Any, original: Any) -> Any:
    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        asked = args[0] if args else None
        asked = getattr(asked, "__self__", asked)  # a method of a network
        if isinstance(asked, torch.nn.Module):
            for call in _state.before:
                call(asked)
        _state.is_made = _state.is_made or frames.is_script(sys._getframe(1).f_code)
        with _as_before():
            return original(*args, **kwargs)

    return make


@contextmanager
def _as_before() -> Iterator[None]:
    present = [(owner, name, getattr(owner, name)) for owner, name in _state.replaced]
    for owner, name, ours in present:
        setattr(owner, name, inspect.unwrap(ours))
    _state.making += 1
    try:
        yield
    finally:
        _state.making -= 1
        for owner, name, ours in present:
            setattr(owner, name, ours)
