"""A report at the moment a job runs out of memory, on a real card or a virtual one, in an unmodified script.

    VRAMFIT_ON_OOM=report      the snapshot, who held what, the traceback and the allocator's numbers, in a folder
    VRAMFIT_ON_OOM=doctor      the same, and what `vramfit doctor` says about it
    VRAMFIT_ON_OOM_DIR         where: ./vramfit-oom unless set; each process makes a folder of its own in it

    history             the stacks of live blocks, kept by PyTorch itself, within a budget of time and entries
    progress_marks            how far the card had come, for errors that are reported later than they happen
    refused_allocation  what is looked at when PyTorch says that it is out of memory
    collected           what is known of each of these moments
    report              the files, and the doctor
    hook, start         put the import hook into an environment's site-packages, and begin there

Nothing here prints before the job's own error, changes it, or touches the exit code. A part that fails is left out.
"""

from __future__ import annotations

import atexit
import os
import sys
from types import ModuleType, TracebackType
from typing import Any

from vramfit.contract import asked

MODES = (asked.ON_OOM_REPORT, asked.ON_OOM_DOCTOR)


def is_wanted() -> bool:
    return os.environ.get("VRAMFIT_ON_OOM", "") in MODES


def install(torch: ModuleType) -> None:
    """Called once torch is imported. What needs the card waits until the job itself opens it."""
    if not is_wanted():
        return
    from vramfit.on_oom import refused_allocation

    refused_allocation.install(torch)
    _watch_uncaught()


def _watch_uncaught() -> None:
    before = sys.excepthook

    def excepthook(kind: Any, error: BaseException, trace: TracebackType | None) -> None:
        try:
            before(kind, error, trace)
        finally:
            _report(error)

    sys.excepthook = excepthook
    atexit.register(_tell_caught)


def _tell_caught() -> None:
    """Errors that the script caught, and whatever it did then: their reports are there."""
    from vramfit.on_oom import report

    try:
        report.tell_unfinished()
    except Exception as failure:
        _say(f"vramfit: {failure!r}")


def _report(error: BaseException) -> None:
    """Reports after the job's own words, so that nothing of ours can hide them."""
    try:
        from vramfit.on_oom import report

        report.finish(error)
    except Exception as failure:
        _say(f"vramfit: the report of the error could not be finished: {failure!r}")


def _say(text: str) -> None:
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):  # a closed stderr is no reason to fail
        return
