"""Ends a run that is past its budget inside a loop of the host's own: one that comes to no batch and no step.

    for step in range(1000):
        train_step()
        while boxes.numel():            # a hand-written suppression of overlapping boxes: thousands of rounds
            boxes = drop_overlapping(boxes)

Everything else of a budget is looked at when a batch or a step comes. Here a thread waits beside the script, and has
its main thread end the run between two instructions, as Ctrl-C would.
"""

from __future__ import annotations

import _thread
import atexit
import ctypes
import threading
import time
from collections.abc import Callable

from vramfit.base import notes, process
from vramfit.base.stop import RunComplete

_POLL_SECONDS = 0.25
_AGAIN_SECONDS = 2.0  # where a script caught the end of its run
_Pending = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.watched = False
        self.ended = False
        self.leaving = False
        self.is_called = False  # the main thread has been asked to end the run, and is not done with it

    def in_child(self) -> None:
        self.watched = False  # its thread is the parent's


_state = process.own(_State)


def watch(is_overdue: Callable[[], bool], end: Callable[[], None]) -> None:
    """Watches from here on, and begins once. `end` is called in the main thread; it raises RunComplete."""
    if _state.watched:
        return
    _state.watched, _state.ended, _state.leaving, _state.is_called = True, False, False, False
    atexit.register(setattr, _state, "leaving", True)

    def interrupt(_: object) -> int:
        try:
            if not _state.ended and is_overdue():
                end()
        except RunComplete:
            _state.ended = True  # it can't leave a callback by itself: the thread raises it
        except Exception as error:
            notes.hook_failed("overdue", error)
        finally:
            _state.is_called = False
        return 0

    pending = _Pending(interrupt)

    def wait() -> None:
        main = ctypes.c_ulong(threading.main_thread().ident or 0)
        while not _state.leaving:
            time.sleep(_POLL_SECONDS)
            if _state.ended:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(main, ctypes.py_object(RunComplete))
                time.sleep(_AGAIN_SECONDS)
            elif is_overdue() and not _state.is_called:
                # One at a time: CPython 3.11 takes none from within another, and where lines are traced it then tries
                # for ever to take the one that waits.
                _state.is_called = True
                ctypes.pythonapi.Py_AddPendingCall(pending, None)

    _thread.start_new_thread(wait, ())
