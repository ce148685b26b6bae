"""Hooks that look for causes which only time shows, under VRAMFIT_DIAGNOSE=1 (`vramfit doctor -- python script.py`).

Each module measures one thing and writes notes (docs/notes.md lists them); the program puts them together with
the recording (src/facts/runtime_evidence). Nothing here judges.
"""

from __future__ import annotations

import os
from typing import Any

from vramfit.base import notes, process
from vramfit.contract import notes as said


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.installed = False


_state = process.own(_State)


def is_wanted() -> bool:
    return os.environ.get("VRAMFIT_DIAGNOSE") == "1"


def install(torch: Any) -> None:
    """Called once a process. The measuring of one part may fail without the others."""
    if not is_wanted() or _state.installed:
        return
    _state.installed = True
    from vramfit.diagnose import (
        attention,
        calls,
        checkpoints,
        copies,
        evaluations,
        failure,
        gradients,
        growth,
        inputs,
        kept_from_training,
        patches,
        processes,
        rises,
        weight_copies,
    )

    parts = (
        ("processes", lambda: processes.install(torch)),
        ("evaluations", evaluations.install),
        ("inputs", lambda: inputs.install(torch)),
        ("copies", lambda: copies.install(torch)),
        ("attention", lambda: attention.install(torch)),
        ("checkpoints", lambda: checkpoints.install(torch)),
        ("failure", lambda: failure.install(torch)),
        ("kept_from_training", kept_from_training.install),
        ("gradients", gradients.install),
        ("growth", growth.install),
        ("rises", rises.install),
        ("calls", calls.install),
        ("weight_copies", weight_copies.install),
        ("patches", lambda: patches.stop_before_compile(torch)),
    )
    for name, put_in_place in parts:
        try:
            put_in_place()
        except Exception as error:
            notes.hook_failed(f"diagnose.{name}", error)
    notes.note(said.Diagnosed())
