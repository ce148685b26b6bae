"""Files that a script believes it wrote: kept elsewhere, yet there for whatever it does with them next.

Scripts rename, copy, link, measure and read back what they save (`shutil.copyfile("last.pth", "best.pth")`). The
functions for that are patched when the first shadow is made, not before, and do nothing to other paths.
"""

from __future__ import annotations

import builtins
import functools
import os
import shutil
from collections.abc import Callable
from typing import Any

_shadows: dict[str, str] = {}  # absolute path -> where the bytes are
_patched: list[bool] = []


def path_of(target: Any) -> str | None:
    """The absolute path that a target names; None for open files and descriptors."""
    if not isinstance(target, (str, os.PathLike)):
        return None
    path = os.fspath(target)
    return os.path.abspath(path) if isinstance(path, str) else None


def find(target: Any) -> str | None:
    path = path_of(target)
    return _shadows.get(path) if path is not None else None


def add(path: str, shadow: str) -> None:
    _shadows[path] = shadow
    if not _patched:
        _patched.append(True)
        _patch()


def _moved(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def move(source: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        shadow, place = find(source), path_of(target)
        if shadow is None or place is None:
            return original(source, target, *args, **kwargs)
        del _shadows[path_of(source) or ""]
        _shadows[place] = shadow
        return None

    return move


def _copied(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def copy(source: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        shadow, place = find(source), path_of(target)
        if shadow is None or place is None:
            return original(source, target, *args, **kwargs)
        _shadows[place] = shadow
        return target

    return copy


def _removed(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def remove(path: Any, *args: Any, **kwargs: Any) -> Any:
        if find(path) is None:
            return original(path, *args, **kwargs)
        del _shadows[path_of(path) or ""]
        return None

    return remove


def _ignored_for_shadows(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(source: Any, *args: Any, **kwargs: Any) -> Any:
        return None if find(source) is not None else original(source, *args, **kwargs)

    return call


def _read(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def read(path: Any, *args: Any, **kwargs: Any) -> Any:
        return original(find(path) or path, *args, **kwargs)

    return read


def _opened(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def opened(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        reads = not set(mode) & set("wax+")
        return original((find(file) if reads else None) or file, mode, *args, **kwargs)

    return opened


def _patch() -> None:
    for name in ("rename", "replace"):
        setattr(os, name, _moved(getattr(os, name)))
    for name in ("remove", "unlink"):
        setattr(os, name, _removed(getattr(os, name)))
    os.link = _copied(os.link)
    os.symlink = _copied(os.symlink)
    os.stat = _read(os.stat)
    shutil.copyfile = _copied(shutil.copyfile)
    for name in ("copymode", "copystat"):
        setattr(shutil, name, _ignored_for_shadows(getattr(shutil, name)))
    builtins.open = _opened(builtins.open)
