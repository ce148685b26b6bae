"""Writes a plan into the user's own source (`vramfit patch`): VRAMFIT_PATCH=1 beside VRAMFIT_PLAN.

The job runs once with the plan. Where the techniques act, the lines of the script's own are noted (watch.py), and when
it ends its files are changed in memory at these places (changes.py). What comes of it goes to the run folder as
patch.PID.json; nothing of the user's is written.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from pathlib import Path
from typing import Any

from vramfit import apply


def is_wanted() -> bool:
    return os.environ.get("VRAMFIT_PATCH") == "1"


def install(torch: Any) -> None:
    if not is_wanted():
        return
    from vramfit.patch import watch

    watch.install(torch)
    pid = os.getpid()

    def write() -> None:
        if os.getpid() == pid:
            _write(Path(os.environ["VRAMFIT_RUN_DIR"]) / f"patch.{pid}.json")

    atexit.register(write)


def _write(path: Path) -> None:
    answer = make(apply.planned())
    part = path.with_suffix(".part")
    part.write_text(json.dumps(answer), encoding="utf-8")
    part.replace(path)


def make(techniques: list[dict[str, Any]]) -> dict[str, Any]:
    """Each technique in full, or not at all and why."""
    from vramfit.patch.changes import CHANGES
    from vramfit.patch.editing import Editing
    from vramfit.patch.places import places
    from vramfit.patch.source_tree import Unpatchable

    editing = Editing(places)
    done, left = [], []
    if sys.version_info < (3, 11):
        left = [
            {"id": str(one["id"]), "text": "places in the source are told by Python 3.11 and later"}
            for one in techniques
        ]
        techniques = []
    for options in techniques:
        name = str(options["id"])
        before = editing.remember()
        try:
            CHANGES[name](editing, options)
            done.append({"id": name, "text": ""})
        except Unpatchable as why:
            editing.restore(before)
            left.append({"id": name, "text": str(why)})
        except Exception as error:  # ours: the user's file stays as it is
            editing.restore(before)
            left.append({"id": name, "text": f"it failed in vramfit itself: {error!r}"})
    editing.write_losses()
    return {"done": done, "left": left, **_files(editing)}


def _files(editing: Any) -> dict[str, Any]:
    changed = [source for source in editing.sources.values() if source.is_changed()]
    root = os.path.commonpath([os.getcwd(), *(os.path.dirname(source.path) for source in changed)])
    files = [
        {
            "path": source.path,
            "before": source.text,
            "after": source.patched(),
            "diff": source.diff(os.path.relpath(source.path, root)),
        }
        for source in sorted(changed, key=lambda one: one.path)
    ]
    return {"root": root, "files": files}
