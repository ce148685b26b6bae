"""Functions of ours in the place of torch's own: PyTorch knows its functions by identity, in more places than one."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from vramfit.private import torch as of_torch


def keep_scriptable(original: Any, replacement: Any) -> None:
    """TorchScript knows torch's functions by identity: the replacement means the same operator."""
    table = of_torch.builtin_table()
    if id(original) in table:
        table[id(replacement)] = table[id(original)]


def keep_device(torch: ModuleType, original: Any, replacement: Any) -> None:
    """`with torch.device("cuda")` gives a device to the functions of a table: to either, whoever calls which."""
    constructors = of_torch.device_constructors()
    if constructors & {original, replacement}:
        constructors |= {original, replacement}


def has_overrides(torch: ModuleType, args: Any) -> bool:
    """Whether somebody overrides functions of torch here: a mode, or the class of one of `args`."""
    return bool(of_torch.has_function_mode()) or torch.overrides.has_torch_function(args)
