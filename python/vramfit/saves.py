"""Saving: its phase, and that a run on a virtual card never overwrites what the user trained.

On the virtual GPU device memory holds no trained values, so a checkpoint written there is worthless, and writing it
over a real one would destroy it. torch.save to a path therefore goes to the run folder, which is removed at the end;
safetensors files go there only when one of that name exists, since other libraries read them by themselves.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from vramfit import importing, notes, phases, shadow_files

_MAX_SHADOW_BYTES = 1 << 30  # of all shadows: beyond that they are cut to nothing
_state = {"bytes": 0, "said": False, "count": 0}


def _is_virtual() -> bool:
    return bool(os.environ.get("VRAMFIT_LEDGER")) and os.environ.get("VRAMFIT_REAL") != "1"


def _shadow_place() -> str | None:
    folder = os.environ.get("VRAMFIT_RUN_DIR")
    if not folder:
        return None
    shadows = Path(folder) / f"saved.{os.getpid()}"
    shadows.mkdir(exist_ok=True)
    _state["count"] += 1
    return str(shadows / str(_state["count"]))


def _account(path: str, shadow: str) -> None:
    size = os.path.getsize(shadow)
    if _state["bytes"] + size > _MAX_SHADOW_BYTES:
        os.truncate(shadow, 0)
    else:
        _state["bytes"] += size
    if not _state["said"]:
        _state["said"] = True
        text = "checkpoints were not written to their own paths, so that no real one is overwritten"
        notes.note("cut", what="saves", text=text, path=path, loader=None, kept=None, of=None)


def _redirected(original: Callable[..., Any], only_existing: bool) -> Callable[..., Any]:
    @functools.wraps(original)
    def save(what: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        path = shadow_files.path_of(target) if _is_virtual() else None
        if path is None or (only_existing and not os.path.exists(path)):
            return original(what, target, *args, **kwargs)
        # The error that the script would have got, it gets.
        shadow = _shadow_place() if os.path.isdir(os.path.dirname(path)) else None
        if shadow is None:
            return original(what, target, *args, **kwargs)
        result = original(what, shadow, *args, **kwargs)
        _account(path, shadow)
        shadow_files.add(path, shadow)
        return result

    return phases.saving(save)


def _reading_back(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def load(source: Any, *args: Any, **kwargs: Any) -> Any:
        return original(shadow_files.find(source) or source, *args, **kwargs)

    return load


def _safetensors(module: ModuleType) -> None:
    for name in ("save_file", "save_model"):
        if hasattr(module, name):
            setattr(module, name, _redirected(getattr(module, name), only_existing=True))
    for name in ("load_file",):
        setattr(module, name, _reading_back(getattr(module, name)))


def install(torch: Any) -> None:
    save, load = _redirected(torch.save, only_existing=False), _reading_back(torch.load)
    torch.save = torch.serialization.save = save
    torch.load = torch.serialization.load = load
    importing.after_import("safetensors.torch", _safetensors)
