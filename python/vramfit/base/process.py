"""The one owner of what the hooks remember in a process, and of what a fork of it begins with.

    class _State:
        KEEPS = ("listeners",)          # a forked child goes on with these; everything else is as in a new process

        def __init__(self) -> None:
            self.listeners: list[Listener] = []
            self.told = False

    _state = process.own(_State)

A module that remembers anything does it like that (tools/check_python_state). In a forked child each state is made anew
in place, so that whoever holds it holds the new one: in the order in which they were owned, so that of what a state is
made from comes before it. What a child has to do itself, with what its parent had, is the state's `in_child`. A child
lets go of nothing that a state of its parent's held: pinned memory can only be freed by the process that pinned it, and
memory of a card only by the one that has its context; a child that tried would die of it.

    @process.cached()
    def _loops_of(code): ...

A cache of what a function gave is such a state too: it may hold what lies elsewhere in a child, or what the parent had
reached. A child begins with empty ones.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, Final, TypeVar

Owned = TypeVar("Owned")
Given = TypeVar("Given")

ALL: Final = ("*",)  # for KEEPS: what was put in place stays, what was learnt holds in a child too


class _Process:
    def __init__(self) -> None:
        self.owned: list[tuple[Any, tuple[Any, ...]]] = []  # each state, and what it was made with
        self.caches: list[Any] = []
        self.of_parents: list[dict[str, Any]] = []  # what states held before a fork

    def begin_in_child(self) -> None:
        for cache in self.caches:
            cache.cache_clear()
        failure: Exception | None = None
        for state, arguments in self.owned:
            self.of_parents.append(dict(vars(state)))
            try:
                _begin_again(state, arguments)
            except Exception as error:  # the others are to begin all the same
                failure = failure or error
        if failure is not None:
            raise failure  # Python prints it


def _begin_again(state: Any, arguments: tuple[Any, ...]) -> None:
    kind = type(state)
    keeps = getattr(kind, "KEEPS", ())
    if hasattr(kind, "in_child"):
        state.in_child()
    if keeps == ALL:
        return
    kept = [(name, getattr(state, name)) for name in keeps]
    state.__init__(*arguments)
    for name, value in kept:
        setattr(state, name, value)


_process: Final = _Process()
os.register_at_fork(after_in_child=_process.begin_in_child)


def own(kind: type[Owned], *arguments: Any) -> Owned:
    """Makes what a module, or a part of one, remembers in this process."""
    state = kind(*arguments)
    _process.owned.append((state, arguments))
    return state


def cached(maxsize: int | None = None) -> Callable[[Callable[..., Given]], Callable[..., Given]]:
    """Keeps what a function of a module gave for the last `maxsize` sets of arguments (None: for all)."""

    def decorate(function: Callable[..., Given]) -> Callable[..., Given]:
        cache = functools.lru_cache(maxsize)(function)
        _process.caches.append(cache)
        return cache

    return decorate


def owned() -> list[Any]:
    """Every state of this process, and every cache."""
    return [state for state, _ in _process.owned] + _process.caches
