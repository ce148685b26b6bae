"""What a thread allocates belongs to the line of the script that set it to work: pools load weights, and none of the
script's own code runs in them."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from vramfit.base import recorder
from vramfit.base.around import around


def _for_line(line: int, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    before = recorder.inherit_line(line)
    try:
        return function(*args, **kwargs)
    finally:
        recorder.inherit_line(before)


def install() -> None:
    start: Any = threading.Thread.start
    submit: Any = ThreadPoolExecutor.submit

    def start_for_line(thread: Any) -> Iterator[Any]:
        thread.run = functools.partial(_for_line, recorder.own_line(), thread.run)
        yield

    @functools.wraps(submit)
    def submit_for_line(self: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        return submit(self, functools.partial(_for_line, recorder.own_line(), function), *args, **kwargs)

    threading.Thread.start = around("thread_lines", start, start_for_line)  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = submit_for_line  # type: ignore[method-assign]
