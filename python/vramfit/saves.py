"""Saving: its phase, and that a run on a virtual card never overwrites what the user trained.

On the virtual GPU device memory holds no trained values, so a checkpoint written there is worthless, and writing it
over a real one would destroy it. torch.save to a path therefore goes to the run folder, which is removed at the end,
and torch.load of that path reads it back from there. Scripts that save to a temporary name and then rename it see the
same: the rename moves the redirection.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from vramfit import importing, notes, phases

_MAX_SHADOW_BYTES = 1 << 30  # of all shadow files: beyond that, contents are dropped
_shadows: dict[str, str] = {}
_state = {"bytes": 0, "said": False}


def _is_virtual() -> bool:
    return bool(os.environ.get("VRAMFIT_LEDGER")) and os.environ.get("VRAMFIT_REAL") != "1"


def _path_of(target: Any) -> str | None:
    return os.path.abspath(os.fspath(target)) if isinstance(target, (str, os.PathLike)) else None


def _shadow_for(path: str) -> str | None:
    folder = os.environ.get("VRAMFIT_RUN_DIR")
    if not folder or _state["bytes"] > _MAX_SHADOW_BYTES:
        return None
    shadows = Path(folder) / f"saved.{os.getpid()}"
    shadows.mkdir(exist_ok=True)
    return _shadows.setdefault(path, str(shadows / str(len(_shadows))))


def _say_once(path: str) -> None:
    if not _state["said"]:
        _state["said"] = True
        text = "checkpoints were not written to their own paths, so that no real one is overwritten"
        notes.note("cut", what="saves", text=text, path=path, loader=None, kept=None, of=None)


def _redirected(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
        path = _path_of(f)
        if path is None or not _is_virtual():
            return original(obj, f, *args, **kwargs)
        _say_once(path)
        shadow = _shadow_for(path)
        if shadow is None:
            return original(obj, os.devnull, *args, **kwargs)
        result = original(obj, shadow, *args, **kwargs)
        _state["bytes"] += os.path.getsize(shadow)
        return result

    return phases.saving(save)


def _reading_back(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def load(f: Any, *args: Any, **kwargs: Any) -> Any:
        path = _path_of(f)
        shadow = _shadows.get(path) if path is not None else None
        return original(shadow if shadow is not None and os.path.exists(shadow) else f, *args, **kwargs)

    return load


def _moving(original: Callable[..., Any]) -> Callable[..., Any]:
    """os.replace and its kin: a script that saves beside its file and renames moves the shadow."""

    @functools.wraps(original)
    def move(source: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        path = _path_of(source)
        if path is None or path not in _shadows or os.path.exists(path):
            return original(source, target, *args, **kwargs)
        _shadows[_path_of(target) or path] = _shadows.pop(path)
        return Path(target) if isinstance(source, Path) else None

    return move


def _renaming(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def rename(source: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        before, after = _path_of(source), _path_of(target)
        if before in _shadows and after is not None and not os.path.exists(before):
            _shadows[after] = _shadows.pop(before)
            return None
        return original(source, target, *args, **kwargs)

    return rename


def _safetensors(module: ModuleType) -> None:
    for name in ("save_file", "save_model"):
        if hasattr(module, name):
            setattr(module, name, phases.saving(getattr(module, name)))


def install(torch: Any) -> None:
    save, load = _redirected(torch.save), _reading_back(torch.load)
    torch.save = torch.serialization.save = save
    torch.load = torch.serialization.load = load
    # Before 3.11 pathlib keeps its own references to os.replace and os.rename.
    for owner in (os, Path):
        for name in ("replace", "rename"):
            setattr(owner, name, _moving(getattr(owner, name)))
    os.replace, os.rename = _renaming(os.replace), _renaming(os.rename)
    importing.after_import("safetensors.torch", _safetensors)
