"""Calls us back when a module has been imported, without importing it ourselves; large ones are imported quietly."""

from __future__ import annotations

import contextlib
import importlib.abc
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from vramfit.base import garbage, notes, process
from vramfit.private import python as of_python


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.watched: dict[str, list[Callable[[ModuleType], None]]] = {}
        self.around_large: list[Callable[[], contextlib.AbstractContextManager[None]]] = []


_state = process.own(_State)


def after_import(name: str, callback: Callable[[ModuleType], None]) -> None:
    """Calls back with the module once it is imported; at once when it already is. A failing callback is noted."""
    module = sys.modules.get(name)
    if module is not None and not of_python.is_initializing.of(getattr(module, "__spec__", None), False):
        _call(name, callback, module)
    else:
        _state.watched.setdefault(name, []).append(callback)


def _call(name: str, callback: Callable[[ModuleType], None], module: ModuleType) -> None:
    try:
        callback(module)
    except Exception as error:
        notes.hook_failed(f"after importing {name}", error)


def around_large_imports(context: Callable[[], contextlib.AbstractContextManager[None]]) -> None:
    """Entered anew around the import of each large library."""
    _state.around_large.append(context)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with garbage.quiet(), contextlib.ExitStack() as around:
        for context in _state.around_large:
            around.enter_context(context())
        yield


class _Loader(importlib.abc.Loader):
    """The module's own loader, with our callbacks after it."""

    def __init__(self, own: Any) -> None:
        self.__own = own

    def __getattr__(self, name: str) -> Any:
        """Whoever asks importlib.util.find_spec() may go on to ask the loader for a source or a resource."""
        if name == "_Loader__own":  # a copy that has nothing yet
            raise AttributeError(name)
        return getattr(self.__own, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.__own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module must see its own loader: pkgutil, importlib.resources and inspect ask for it.
        module.__loader__ = self.__own
        if module.__spec__ is not None:
            module.__spec__.loader = self.__own
        with _quiet() if garbage.is_import_quiet(module.__name__) else contextlib.nullcontext():
            self.__own.exec_module(module)
            for callback in _state.watched.pop(module.__name__, []):
                _call(module.__name__, callback, module)


def find_behind(
    this: importlib.abc.MetaPathFinder,
    wrap: Callable[[Any], importlib.abc.Loader],
    name: str,
    path: Sequence[str] | None,
    target: ModuleType | None,
) -> ModuleSpec | None:
    """The spec that the finders after `this` give, its loader wrapped: those before it were asked already, and some of
    them would ask it again."""
    finders = sys.meta_path[sys.meta_path.index(this) + 1 :] if this in sys.meta_path else sys.meta_path
    for finder in finders:
        find = getattr(finder, "find_spec", None)
        spec = find(name, path, target) if find is not None else None
        if spec is None:
            continue
        if spec.loader is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = wrap(spec.loader)
        return spec
    return None


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _state.watched and not garbage.is_import_quiet(fullname):
            return None
        return find_behind(self, _Loader, fullname, path, target)


def install() -> None:
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
