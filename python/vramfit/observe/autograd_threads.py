"""Lets autograd's threads finish before Python does.

torch.autograd keeps a copy of the Python context with every backward pass (torch.autograd.graph, _engine_run_backward),
and a device thread drops its share of it, for which it needs the GIL, only after the main thread has gone on. A script
that ends right after backward() may then reach the end of Python first, and the thread's wait for the GIL ends the
process: "terminate called without an active exception". A virtual card is fast enough to show it.
"""

from __future__ import annotations

import atexit
import time

from vramfit.base import events, process

TURNS = 10
TURN_SECONDS = 0.01  # a sleep hands over the GIL; twice CPython's switch interval


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.registered = False


_state = process.own(_State)


def _let_them_finish() -> None:
    for _ in range(TURNS):
        time.sleep(TURN_SECONDS)


def _register() -> None:
    if not _state.registered:
        _state.registered = True
        atexit.register(_let_them_finish)


def need_not_finish() -> None:
    """Where the process ends without taking the interpreter apart, a thread that waits for the GIL ends with it."""
    atexit.unregister(_let_them_finish)


def install() -> None:
    # Registered at the first backward pass, so that it runs before most of the script's own exit functions.
    events.backward_end.listen(_register)
