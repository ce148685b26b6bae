"""Which process and which thread this is: a loader's worker, its pin thread."""

from __future__ import annotations

import functools
import threading
from typing import Any

from vramfit import notes


def _worker_loop(original: Any) -> Any:
    @functools.wraps(original)
    def loop(*args: Any, **kwargs: Any) -> Any:
        notes.note("role", role="worker")
        return original(*args, **kwargs)

    return loop


def _pin_loop(original: Any) -> Any:
    @functools.wraps(original)
    def loop(*args: Any, **kwargs: Any) -> Any:
        notes.note("thread", role="pin", thread=threading.get_native_id())
        return original(*args, **kwargs)

    return loop


def install(torch: Any) -> None:
    from torch.utils.data import _utils

    _utils.worker._worker_loop = _worker_loop(_utils.worker._worker_loop)
    _utils.pin_memory._pin_memory_loop = _pin_loop(_utils.pin_memory._pin_memory_loop)
