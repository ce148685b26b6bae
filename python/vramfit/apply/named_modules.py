"""Modules that a plan names: found in each root when that is first called."""

from __future__ import annotations

from typing import Any

import torch

from vramfit import apply
from vramfit.apply import near_names
from vramfit.apply.foreign_forwards import is_scripted
from vramfit.observe import scopes
from vramfit.steer import errors


class NamedModules:
    """Part of a technique's state."""

    def __init__(self, technique: str, names: list[str]) -> None:
        self.names = names
        self._technique = technique
        self._done: set[int] = set()
        self._found: set[str] = set()

    def in_child(self) -> None:
        self._done.clear()

    def _names_in(self, prefix: str) -> list[str]:
        """Those of the root whose modules' names begin so; another network's are there when that is first called."""
        return [name for name in self.names if name[: name.rfind("/") + 1] == prefix]

    def find(self, module: Any) -> dict[str, Any]:
        """Those of this root, by name, where it has not been asked for before. One that it lacks is refused."""
        root = scopes.root_of(module)
        inner = scopes.unwrap(module)
        if root is None or not root.parameters or id(inner) in self._done or torch.jit.is_tracing():
            return {}
        self._done.add(id(inner))
        modules = {root.prefix + name: child for name, child in inner.named_modules() if name}
        wanted = self._names_in(root.prefix)
        found = {name: modules[name] for name in wanted if name in modules}
        missing = sorted(set(wanted) - set(found))
        if found and missing:
            apply.refused(
                self._technique, f"the model has no module {missing[0]}{near_names.instead_of(missing[0], modules)}"
            )
            return {}
        if inside := [name for name in found if _is_in_script(name, root.prefix, {root.prefix: inner, **modules})]:
            apply.refused(self._technique, f"{inside[0]} is within a network of TorchScript, which calls it itself")
            return {}
        self._found.update(found)
        return found

    def at_end(self) -> None:
        missing = sorted(set(self.names) - self._found)
        if self._found and missing and not errors.ended_by_error():
            apply.refused(self._technique, f"the script never called a model with the module {missing[0]}")


def _is_in_script(name: str, prefix: str, modules: dict[str, Any]) -> bool:
    """Whether the root or another module above it is TorchScript's."""
    above = [name[:end] for end, letter in enumerate(name) if letter == "." and end > len(prefix)]
    return any(is_scripted(modules[one]) for one in (prefix, *above))
