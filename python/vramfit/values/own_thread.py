"""A thread of our own, where autograd works as usual.

Inside a dispatch mode autograd is switched off for the thread; a fresh thread has none of that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

THREAD_NAME = "vramfit-values"


def run_in_own_thread(work: Callable[[], Any]) -> Any:
    """The result of `work()` run in another thread; its exception is raised here."""
    outcome: dict[str, Any] = {}

    def call() -> None:
        try:
            outcome["result"] = work()
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=call, name=THREAD_NAME)
    thread.start()
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]
