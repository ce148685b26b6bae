"""What a module of the hooks could remember, looked for in the running process and not in its text.

That tools/check_python_state reads. However a memory is spelled, it lies in the module, in a class of it, in a default
of a function, or in a cache.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import re
from collections.abc import Iterator
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType, GenericAlias, MappingProxyType, MethodType, ModuleType
from typing import Any

_PLAIN = (
    *(type(None), bool, int, float, complex, str, bytes, range, frozenset, type, ModuleType, BuiltinFunctionType),
    *(re.Pattern, PurePath, GenericAlias, property, staticmethod, classmethod, functools.partial),
)
_OF_LIBRARIES = (
    "typing",
    "__future__",
    "ctypes",
    "enum",
    "types",
    "dataclasses",
    "_abc",
)  # what these make for a class


def find_memory(module: ModuleType, owned: list[Any], constants: tuple[type, ...]) -> Iterator[str]:
    """Places, a line each. `owned` are the states of the process; objects of `constants` never change."""
    seen = {id(state) for state in owned}

    def can_change(value: Any) -> bool:
        if type(value) is object or id(value) in seen or isinstance(value, (*_PLAIN, *constants)) or callable(value):
            return False
        if isinstance(value, tuple):
            return any(map(can_change, value))
        if isinstance(value, MappingProxyType):
            return any(map(can_change, value.values()))
        parameters = getattr(type(value), "__dataclass_params__", None)
        if parameters is not None and parameters.frozen:
            return any(can_change(getattr(value, each.name)) for each in dataclasses.fields(value))
        return type(value).__module__ not in _OF_LIBRARIES and not hasattr(type(value), "__get__")

    def of_function(name: str, function: FunctionType) -> Iterator[str]:
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        if any(map(can_change, defaults)):
            yield f"{name}: a default can change"
        if function.__dict__.keys() - {"__wrapped__", "__isabstractmethod__", "__deprecated__"}:
            yield f"{name}: the function has attributes of its own"

    def of_class(kind: type) -> Iterator[str]:
        if issubclass(kind, enum.Enum):
            return
        for name, value in vars(kind).items():
            place = f"{kind.__name__}.{name}"
            if isinstance(value, FunctionType):
                yield from of_function(place, value)
            elif not name.startswith(("__", "_field")) and not name.isupper() and can_change(value):
                yield f"{place} can change"

    for name, value in list(vars(module).items()):
        if name.startswith("__"):
            continue
        home = getattr(value, "__module__", None)
        if isinstance(value, functools._lru_cache_wrapper):
            if home == module.__name__ and id(value) not in seen and ".private." not in module.__name__:
                yield f"{name}: a cache that a fork keeps"
        elif isinstance(value, (FunctionType, MethodType)):
            if home == module.__name__ and isinstance(value, FunctionType):
                yield from of_function(name, value)
        elif isinstance(value, type):
            if home == module.__name__:
                yield from of_class(value)
        elif name.lstrip("_").isupper() and not type(value).__module__.startswith("vramfit"):
            continue  # a constant: tools/check_python_state sees to it that it is of a kind that nobody changes
        elif can_change(value):
            yield f"{name} can change"
