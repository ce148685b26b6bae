"""Names by which a script reaches an object: variables of running functions, of modules and classes."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass
from typing import Any

from vramfit.base import frames
from vramfit.contract import notes as said


@dataclass
class Name:
    kind: said.HolderKind
    name: str
    where: str
    script: bool  # a name in the user's own code


def running_names() -> dict[int, Name]:
    """Objects named by running functions; the script's own names win, the innermost first."""
    found: dict[int, Name] = {}
    kind: said.HolderKind
    for frame in frames.stacks():
        script = frames.is_script(frame.f_code)
        if frame.f_code.co_name == "<module>":
            where, kind = str(frame.f_globals.get("__name__", "")), "global"
        else:
            where, kind = frames.place(frame), "local"
        for name, value in frames.variables(frame).items():
            if isinstance(value, (int, float, str, bytes, bool, type(None), types.ModuleType)) or name.startswith("__"):
                continue
            known = found.get(id(value))
            if known is None or (script and not known.script):
                found[id(value)] = Name(kind, name, where, script)
    return found


def name_of(value: Any) -> Name | None:
    """A name that needs no running function: a module's globals, a class's, a dead function's frame."""
    if isinstance(value, types.ModuleType):
        return Name("global", "", value.__name__, _is_script_module(value))
    if isinstance(value, dict) and "__name__" in value and "__builtins__" in value:
        module = sys.modules.get(str(value["__name__"]))
        script = module is not None and vars(module) is value and _is_script_module(module)
        return Name("global", "", str(value["__name__"]), script)
    if value is vars(sys):
        return Name("global", "sys", "sys", True)
    if isinstance(value, type):
        return Name("class", value.__name__, value.__module__, _is_script_module(sys.modules.get(value.__module__)))
    return None


def _is_script_module(module: types.ModuleType | None) -> bool:
    file = getattr(module, "__file__", None)
    if module is None or file is None:
        return module is not None and module.__name__ == "__main__"
    return not (frames.is_ours(file) or frames.is_installed(file))
