"""Functions of torch that are watched: replaced by ones that tell afterwards what they returned.

Subclasses of Tensor are told which function was called by looking it up under its name, and compare it with the real
one: for them the real one is back in its place while it runs. torch.compile traces Python and stumbles over replaced
functions: before it they are put back for good.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from vramfit.base import notes, process
from vramfit.base.around import around
from vramfit.values.standing_in import keep_scriptable


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.originals: list[tuple[Any, str, Any]] = []
        self.plain: tuple[type, ...] = ()  # types that are no subclasses in the sense above


_state = process.own(_State)


def watch(
    torch: Any, place: Any, name: str, after: Callable[[Any, Any, Any], None], before: Callable[[], Any] | None = None
) -> None:
    """Calls after(what before() gave, result, first argument) for calls on plain tensors that return another object."""
    original = getattr(place, name)
    _state.plain = (torch.Tensor, torch.nn.Parameter)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        first = args[0] if args else None
        if type(first) not in _state.plain:
            return _call_unwatched(place, name, original, call, args, kwargs)
        level = before() if before is not None else None
        result = original(*args, **kwargs)
        if result is not first:
            try:
                after(level, result, first)
            except Exception as error:
                notes.hook_failed(f"{after.__module__}.{name}", error)
        return result

    _state.originals.append((place, name, original))
    setattr(place, name, call)
    keep_scriptable(original, call)


def _call_unwatched(place: Any, name: str, original: Any, ours: Any, args: Any, kwargs: Any) -> Any:
    if getattr(place, name) is not ours:
        return original(*args, **kwargs)
    setattr(place, name, original)
    try:
        return original(*args, **kwargs)
    finally:
        if _state.originals:
            setattr(place, name, ours)


def put_back() -> None:
    while _state.originals:
        setattr(*_state.originals.pop())


def stop_before_compile(torch: Any) -> None:
    def call(*_: Any, **__: Any) -> Iterator[Any]:
        put_back()
        yield

    torch.compile = around("patches.compile", torch.compile, call)
