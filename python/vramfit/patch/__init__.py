"""Writes a plan into the user's own source (`vramfit patch`): VRAMFIT_PATCH=1 beside VRAMFIT_PLAN.

The job runs once with the plan. Where the techniques act, the lines of the script's own are noted (watch.py), and when
it ends its files are changed in memory at these places (changes.py). What comes of it goes to the run folder as
patch.PID.json (`told.Patch`); nothing of the user's is written.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from pathlib import Path
from typing import Any

from vramfit import apply
from vramfit.contract import plans, told
from vramfit.contract.fields import plain


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
            _write(Path(os.environ["VRAMFIT_RUN_DIR"]) / f"{told.PATCH_FILE_BEGIN}{pid}{told.PATCH_FILE_END}")

    atexit.register(write)


def _write(path: Path) -> None:
    answer = make(apply.planned())
    part = path.with_suffix(".part")
    part.write_text(json.dumps(answer, default=plain), encoding="utf-8")
    part.replace(path)


def make(techniques: list[plans.Technique]) -> told.Patch:
    """Each technique in full, or not at all and why."""
    from vramfit.patch.changes import CHANGES
    from vramfit.patch.editing import Editing
    from vramfit.patch.places import places
    from vramfit.patch.source_tree import Unpatchable

    editing = Editing(places)
    done: list[str] = []
    left: list[told.UnpatchedTechnique] = []
    if sys.version_info < (3, 11):
        left = [
            told.UnpatchedTechnique(id=one.id, reason="places in the source are told by Python 3.11 and later")
            for one in techniques
        ]
        techniques = []
    for options in techniques:
        name = options.id
        before = editing.remember()
        try:
            CHANGES[name](editing, options)
            done.append(name)
        except Unpatchable as why:
            editing.restore(before)
            left.append(told.UnpatchedTechnique(id=name, reason=str(why)))
        except Exception as error:  # ours: the user's file stays as it is
            editing.restore(before)
            left.append(told.UnpatchedTechnique(id=name, reason=f"it failed in vramfit itself: {error!r}"))
    editing.write_losses()
    changed = [source for source in editing.sources.values() if source.is_changed()]
    # Code of a script that was named from where the job began has that name.
    paths = {source: os.path.abspath(source.path) for source in changed}
    root = os.path.commonpath([os.getcwd(), *(os.path.dirname(path) for path in paths.values())])
    files = [
        told.PatchedFile(
            path=paths[source],
            before=source.text,
            after=source.patched(),
            diff=source.diff(os.path.relpath(paths[source], root)),
        )
        for source in sorted(changed, key=lambda one: paths[one])
    ]
    return told.Patch(root=root, files=files, done=done, left=left)
