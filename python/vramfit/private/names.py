"""A private name of a library: where it is, whether it is there, and what is lost without it."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping
from types import CodeType, ModuleType
from typing import Any, NamedTuple

_MISSING = object()


class Gone(NamedTuple):
    library: str
    version: str
    name: str
    lost: str


def nothing(*_: Any, **__: Any) -> None:
    """Stands in place of a function that is gone."""


def _owner_of(path: str) -> Any:
    """The module of "module:name", the class of "module:Class.name"; _MISSING where that isn't imported, or is gone."""
    module, _, rest = path.partition(":")
    owner = sys.modules.get(module, _MISSING)
    for part in rest.split(".")[:-1]:
        owner = getattr(owner, part, _MISSING)
    return owner


def _last_of(path: str) -> str:
    """`_version` of "torch:Tensor._version"."""
    return path.rpartition(":")[2].rpartition(".")[2]


def _is_there(name: str, finished: str) -> bool:
    module = sys.modules.get(name)
    is_begun = getattr(getattr(module, "__spec__", None), "_initializing", False)
    return module is not None and (not finished or not is_begun or name == finished)


class Private:
    """Never changed: whoever needs it often binds what it gives."""

    def __init__(self, path: str, lost: str, elsewhere: str = "", later: bool = False, only_with: str = "") -> None:
        self.paths = (path, elsewhere) if elsewhere else (path,)  # where other releases have it: `elsewhere`
        self.name = _last_of(path)
        self.lost = lost
        self._only_with = only_with  # what came with it: releases that have not that need neither
        self.later = later  # its module is imported where something asks for it

    @property
    def is_of_some_releases(self) -> bool:
        """That it is not there tells nothing by itself."""
        return bool(self._only_with)

    def known_paths(self, finished: str = "") -> list[str]:
        return [path for path in self.paths if _is_there(path.partition(":")[0], finished)]

    def is_gone(self, finished: str = "") -> bool:
        """`finished`: a module that was executed just now. What others that still are will have, nobody knows."""
        known = self.known_paths(finished)
        if not known:
            return not self.later
        if self._only_with and not hasattr(_owner_of(self._only_with), _last_of(self._only_with)):
            return False
        return not any(self._is_at(path) for path in known)

    def _is_at(self, path: str) -> bool:
        owner = _owner_of(path)
        return owner is not _MISSING and hasattr(owner, _last_of(path))


class Name(Private):
    """A function, class or property that is found by its path, "torch.cuda:_lazy_call"."""

    def __init__(
        self,
        path: str,
        lost: str,
        otherwise: Any = None,
        elsewhere: str = "",
        later: bool = False,
        only_with: str = "",
    ) -> None:
        super().__init__(path, lost, elsewhere, later, only_with)
        self.otherwise = otherwise  # what it gives where it is gone

    def get(self) -> Any:
        for path in self.paths:
            owner = _owner_of(path)
            found = getattr(owner, _last_of(path), _MISSING)
            if owner is not _MISSING and found is not _MISSING:
                return found
        return self.otherwise

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.get()(*args, **kwargs)

    def replace(self, value: Any) -> None:
        """Replaces it where it is; nothing is put where it is gone."""
        for path in self.paths:
            if self._is_at(path):
                setattr(_owner_of(path), _last_of(path), value)


class Attribute(Private):
    """An attribute of objects of a class, or of a module that is given: "torch:Tensor._version"."""

    def of(self, thing: Any, otherwise: Any = None) -> Any:
        return getattr(thing, self.name, otherwise)

    def is_in(self, thing: Any) -> bool:
        return hasattr(thing, self.name)

    def put(self, thing: Any, value: Any) -> None:
        setattr(thing, self.name, value)

    def _is_at(self, path: str) -> bool:
        """Objects get most of theirs when they are made: some method of the class speaks of it."""
        owner = _owner_of(path)
        return owner is not _MISSING and (hasattr(owner, self.name) or _is_spoken_of(owner, self.name))


class Module(Private):
    """One that is imported with its library, by its full name."""

    def __init__(self, name: str, lost: str) -> None:
        super().__init__(f"{name}:", lost)
        self.name = name

    def is_gone(self, finished: str = "") -> bool:
        return self.name not in sys.modules


class Argument(Private):
    """An argument of a documented function that its documentation does not have: "module:function"."""

    def __init__(self, path: str, name: str, lost: str) -> None:
        super().__init__(path, lost)
        self.name = name

    def _is_at(self, path: str) -> bool:
        code = getattr(getattr(_owner_of(path), _last_of(path), None), "__code__", None)
        return code is not None and self.name in code.co_varnames


class Operator(Private):
    """One of torch.ops.aten; `since`: the release that it came with, where that is none of the oldest."""

    def __init__(self, name: str, lost: str, since: str = "") -> None:
        super().__init__(f"torch.ops:aten.{name}", lost)
        self.full_name = f"aten::{name}"
        self._since = _numbers(since)

    def is_gone(self, finished: str = "") -> bool:
        release = _numbers(str(getattr(sys.modules.get("torch"), "__version__", "")))
        return release >= self._since and super().is_gone(finished)


class Family(Operator):
    """Operators that have a word in their names, told by one of them."""

    def __init__(self, word: str, example: str, lost: str) -> None:
        super().__init__(example, lost)
        self.word = word

    def begins(self, full_name: str) -> bool:
        return full_name.startswith("aten::" + self.word)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split("+")[0].split(".")[:2] if part.isdigit()]


class Symbol(Private):
    """A C++ function in one of the library's own shared objects, torch/lib/libtorch_cpu.so, by its mangled names: that
    of today, and that of other releases."""

    def __init__(self, name: str, file: str, symbols: tuple[str, ...], lost: str) -> None:
        super().__init__(f"torch:{name}", lost)
        self._file, self._symbols = file, symbols

    def address(self) -> int | None:
        """The address where it was loaded."""
        folder = os.path.dirname(str(sys.modules["torch"].__file__))
        try:
            library = ctypes.CDLL(os.path.join(folder, "lib", self._file), mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        except OSError:
            return None
        found = (getattr(library, symbol, None) for symbol in self._symbols)
        return next((ctypes.cast(each, ctypes.c_void_p).value for each in found if each is not None), None)

    def is_gone(self, finished: str = "") -> bool:
        return "torch" in sys.modules and self.address() is None


def _is_spoken_of(owner: Any, name: str) -> bool:
    if hasattr(owner, "__code__"):
        return _speaks_of(owner.__code__, name)
    for kind in getattr(owner, "__mro__", ()):
        for method in vars(kind).values():
            code = getattr(getattr(method, "__wrapped__", method), "__code__", None)
            if code is not None and _speaks_of(code, name):
                return True
    return False


def _speaks_of(code: CodeType, name: str) -> bool:
    return name in code.co_names or any(
        name == each or isinstance(each, CodeType) and _speaks_of(each, name) for each in code.co_consts
    )


def late_modules_of(names: ModuleType) -> list[str]:
    """The modules with names of this file that are imported after its library says that it is READY."""
    late = [each for each in vars(names).values() if isinstance(each, Private) and each.later]
    return sorted({path.partition(":")[0] for each in late for path in each.paths})


def need(*names: Private) -> None:
    """Raises where one is gone: a hook that can't do without any of these is not installed at all."""
    gone = [each.name for each in names if each.is_gone()]
    if gone:
        raise LookupError(f"{', '.join(gone)}: gone from this release")


def _names_in(names: ModuleType) -> Iterator[Private]:
    for each in list(vars(names).values()):
        if isinstance(each, (Mapping, tuple)):
            several = each.values() if isinstance(each, Mapping) else each
            yield from (value for value in several if isinstance(value, Private))
        elif isinstance(each, Private):
            yield each


def find_gone(names: ModuleType, finished: str = "") -> Iterator[Gone]:
    """The names in a file of this package that the library of this process has not. With `finished`, a module that was
    executed just now, only those that have their module by now."""
    library = names.LIBRARY
    version = str(getattr(sys.modules.get(library), "__version__", "")) or sys.version.split()[0]
    for each in _names_in(names):
        if finished and not each.known_paths(finished):
            continue
        if each.is_gone(finished):
            yield Gone(library, version, each.name, each.lost)


def packages_of(names: ModuleType) -> list[str]:
    """The packages whose import a file of this package waits for, by their modules that are READY."""
    return sorted({module.partition(".")[0] for module in names.READY})


def find_moved(names: ModuleType, package: ModuleType) -> Iterator[Gone]:
    """The names whose module a package that was imported just now has no file for. Whoever waited for that module's
    import would wait for ever."""
    version = str(getattr(package, "__version__", "")) or "of an unknown version"
    for each in _names_in(names):
        modules = {path.partition(":")[0] for path in each.paths}
        own = {module for module in modules if module.partition(".")[0] == package.__name__}
        if own and own == modules and not each.is_of_some_releases and not any(_is_shipped(m, package) for m in own):
            yield Gone(names.LIBRARY, version, each.name, each.lost)


def _is_shipped(module: str, package: ModuleType) -> bool:
    """Asks the files, for the import system would import all packages around it. Loaders that know no files are
    believed."""
    if module in sys.modules:
        return True
    folders = [str(folder) for folder in getattr(package, "__path__", ())]
    place = os.path.join("", *module.split(".")[1:])
    folder, _, last = place.rpartition(os.sep)
    for around in (os.path.join(each, folder) for each in folders):
        try:
            held = os.listdir(around)
        except OSError:
            continue
        if any(name == last or name.partition(".")[0] == last for name in held):
            return True
    return not any(map(os.path.isdir, folders))
