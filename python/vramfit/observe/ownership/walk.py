"""Every module, optimizer and tensor on a card that Python's collector knows: one walk over its objects."""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass, field
from typing import Any

from vramfit.observe.ownership import storages
from vramfit.private import torch as of_torch


@dataclass
class Living:
    modules: list[Any] = field(default_factory=list)
    optimizers: list[Any] = field(default_factory=list)
    tensors: list[Any] = field(default_factory=list)

    def models(self) -> list[Any]:
        """Modules that are no part of another, with parameters or buffers."""
        children = {
            id(child) for module in self.modules for child in of_torch.children.of(module).values() if child is not None
        }
        return [module for module in self.modules if id(module) not in children]


def _and_below(kind: type) -> set[type]:
    found = {kind}
    waiting = [kind]
    while waiting:
        below = [each for each in type.__subclasses__(waiting.pop()) if each not in found]
        found.update(below)
        waiting += below
    return found


def living() -> Living:
    torch = sys.modules["torch"]
    tensors = {kind for kind in _and_below(torch.Tensor) if not storages.is_shell(kind)}
    modules, optimizers = _and_below(torch.nn.Module), _and_below(torch.optim.Optimizer)
    wanted = tensors | modules | optimizers
    found = Living()
    for each in [each for each in gc.get_objects() if type(each) in wanted]:
        kind = type(each)
        if kind in tensors:
            if each.is_cuda:
                found.tensors.append(each)
        elif kind in modules:
            # Half-made ones have none of these yet.
            if each.__dict__.keys() >= of_torch.REGISTERS:
                found.modules.append(each)
        elif {"state", "param_groups"} <= each.__dict__.keys():
            found.optimizers.append(each)
    return found
