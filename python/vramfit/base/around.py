"""A function of a library's with a hook of ours around it, which can't fail in its stead.

    def set_up(self, *_, **__):        # called with what the script calls the function with
        before = blocks()
        returned = yield               # here the library's own function is called
        tell(blocks() - before)

    module.set_up = around("buckets", module.set_up, set_up)

The library's function is called outside of the hook, once whatever the hook does: what the hook raises is a note
(`hook_failed`), what the function raises goes to the script. A hook that returns before its `yield` has nothing to do
afterwards; `yield INSTEAD` leaves the function out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from vramfit.base import notes

INSTEAD = object()  # of the library's function, the hook did what is to be done

Hook = Callable[..., Iterator[Any]]  # a function with a yield


def around(where: str, original: Callable[..., Any], hook: Hook) -> Callable[..., Any]:
    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Iterator[Any] | None, Any]:
        try:
            running = hook(*args, **kwargs)
            return running, next(running, None)
        except Exception as error:
            notes.hook_failed(where, error)
            return None, None

    def end(running: Any, returned: Any) -> None:
        try:
            if running is not None:
                running.send(returned)
        except StopIteration:
            pass
        except Exception as error:
            notes.hook_failed(where, error)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        running, word = begin(args, kwargs)
        returned = None if word is INSTEAD else original(*args, **kwargs)
        end(running, returned)
        return returned

    return call
