"""How the job ended: an OOM or another uncaught exception, with the script's stack."""

from __future__ import annotations

import linecache
import sys
import traceback
from types import TracebackType
from typing import Any

from vramfit import garbage, notes, recorder
from vramfit.cut import cutter
from vramfit.phases import position

_MAX_FRAMES = 60
_hooks_folder = __file__.rsplit("/", 1)[0] + "/"


def is_oom(error: BaseException) -> bool:
    torch = sys.modules.get("torch")
    kind = getattr(torch, "OutOfMemoryError", None) or getattr(getattr(torch, "cuda", None), "OutOfMemoryError", None)
    return kind is not None and isinstance(error, kind)


def stack_of(trace: TracebackType | None) -> list[dict[str, Any]]:
    """The frames of a traceback, innermost last, without ours."""
    frames = []
    for summary in traceback.extract_tb(trace):
        if summary.filename.startswith(_hooks_folder) or summary.filename.startswith("<frozen"):
            continue
        code = summary.line or linecache.getline(summary.filename, summary.lineno or 0).strip()
        frames.append({"file": summary.filename, "line": summary.lineno, "function": summary.name, "code": code})
    return frames[-_MAX_FRAMES:]


def note_error(error: BaseException) -> None:
    """One note for an exception that ends the job. KeyboardInterrupt and SystemExit are no errors."""
    if not isinstance(error, Exception):
        return
    stack = stack_of(error.__traceback__)
    if is_oom(error):
        notes.note("oom", message=str(error), phase=recorder.PHASE_NAMES[position.phase], stack=stack)
    else:
        notes.note(
            "error",
            type=type(error).__name__,
            message=str(error)[:4000],
            stack=stack,
            after_cut=cutter.after_cut_evaluation,
        )


_uncaught: list[str] = []  # what ended the job


def ended_by_error() -> bool:
    return bool(_uncaught)


def install() -> None:
    before = sys.excepthook

    def excepthook(kind: Any, error: BaseException, trace: TracebackType | None) -> None:
        garbage.run_ends_early()
        _uncaught.append(kind.__name__)
        try:
            if is_oom(error):
                from vramfit import owners

                owners.tag_everything()
            note_error(error)
        except Exception as failure:
            notes.hook_failed("errors.excepthook", failure)
        before(kind, error, trace)

    sys.excepthook = excepthook
