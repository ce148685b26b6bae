"""Which weights a module reads in its own forward: those that could wait in host memory between two forwards of it.

What is left then is what the largest chain of modules, each within the one before, reads, and what can't wait: weights
too small to be worth the way, and those of modules without a forward, which are read by others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from vramfit.observe import scopes
from vramfit.private import torch as of_torch

FEWEST = 4096  # numbers: smaller weights are not worth the way
_CONTAINERS = ("Module", "Sequential", "ModuleList", "ModuleDict")  # PyTorch's, which read nothing of what is in them


def of(module: Any) -> Iterator[Any]:
    """Those that can wait, each as often as it has a name."""
    torch = sys.modules["torch"]
    if isinstance(module, (torch.nn.RNNBase, torch.jit.ScriptModule)):  # cuDNN's block of memory; no Python reads them
        return
    if type(module).forward is torch.nn.Module.forward and "forward" not in vars(module):
        return
    own = of_torch.parameters.of(module, {}).values()
    for parameter in module.parameters() if _reads_all(module) else own:
        if parameter is not None and _can_wait(torch, parameter):
            yield parameter


def at_once(model: Any) -> int:
    """Bytes of the weights that modules read which run at the same time, at most, and of those that stay."""
    waiting = {id(p): p for part in model.modules() for p in of(part)}
    stay = [p for p in model.parameters() if scopes.is_there(p) and id(p) not in waiting]
    return _bytes(stay) + _most_within(model)


def _most_within(module: Any) -> int:
    own = _bytes({id(p): p for p in of(module)}.values())
    if _reads_all(module):
        return own
    return own + max(map(_most_within, module.children()), default=0)


def _bytes(parameters: Any) -> int:
    return sum(p.numel() * p.element_size() for p in parameters)


def _reads_all(module: Any) -> bool:
    """Attention reads the weights of a layer in it; so do others of PyTorch's own."""
    kinds = (base for base in type(module).__mro__ if base.__module__.startswith("torch.nn.modules."))
    return any(kind.__name__ not in _CONTAINERS for kind in kinds)


def _can_wait(torch: Any, parameter: Any) -> bool:
    """A class below it is a library's, or that of a weight that waits (apply/waiting.py)."""
    is_plain = type(parameter) is torch.nn.Parameter or hasattr(type(parameter), "vramfit_card")
    return is_plain and not parameter.is_meta and parameter.numel() >= FEWEST
