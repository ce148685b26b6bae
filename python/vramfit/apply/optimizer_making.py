"""When a script makes an optimizer: its parameters before it has them, and the networks whose they are."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any

from vramfit.observe import scopes

_SHARING = ("FullyShardedDataParallel", "DistributedDataParallel", "DeepSpeedEngine", "FSDPModule", "ScriptModule")


def models_of(torch: Any, wanted: set[int]) -> tuple[list[Any], list[Any]]:
    """The outermost modules that have any parameters of these ids, the largest first; and all other outermost ones."""
    modules = [found for found in gc.get_objects() if issubclass(type(found), torch.nn.Module)]
    inner = {id(child) for module in modules for child in module.children()}
    roots = [module for module in modules if id(module) not in inner]
    found = [root for root in roots if any(id(parameter) in wanted for parameter in root.parameters())]
    others = [root for root in roots if not any(root is one for one in found)]
    return sorted(found, key=lambda root: -sum(map(_numbers, root.parameters()))), others


def _numbers(parameter: Any) -> int:
    return int(parameter.numel()) if scopes.is_there(parameter) else 0


def sharing_in(models: list[Any]) -> str:
    """The class that shares the parameters of these models among processes, or compiled them (TorchScript), and knows
    them all; empty for none."""
    for module in (part for model in models for part in model.modules()):
        for kind in type(module).__mro__:
            if kind.__name__ in _SHARING:
                return kind.__name__
    return ""


def shapes(module: Any) -> list[tuple[int, ...]]:
    return [tuple(parameter.shape) for parameter in module.parameters() if scopes.is_there(parameter)]


def tensors_in(groups: list[Any]) -> list[Any]:
    """All parameters, whether they come alone, in groups, or with names."""
    found = []
    for one in groups:
        members = one["params"] if isinstance(one, dict) else [one]
        for member in members if isinstance(members, list) else [members]:
            found.append(member[1] if isinstance(member, tuple) else member)
    return found


def listed(params: Any) -> Any:
    """Generators are read once; what is no list of parameters is left for PyTorch to refuse."""
    if isinstance(params, (dict, set)) or hasattr(params, "requires_grad"):
        return params
    groups = list(params)
    for group in groups:
        if isinstance(group, dict) and not isinstance(group["params"], (set, list)):
            members = group["params"]
            group["params"] = [members] if hasattr(members, "requires_grad") else list(members)
    return groups


def before_made(torch: Any, listener: Callable[[list[Any]], None], after: Callable[[Any], None] | None = None) -> None:
    """Calls `listener(parameters)` before an optimizer is made, and `after(optimizer)` behind it."""
    kind = torch.optim.Optimizer
    original = kind.__init__

    @functools.wraps(original)
    def made(self: Any, params: Any, *args: Any, **kwargs: Any) -> None:
        params = listed(params)
        if isinstance(params, list):
            listener(tensors_in(params))
        original(self, params, *args, **kwargs)
        if after is not None:
            after(self)

    kind.__init__ = made


def replace_groups(torch: Any, changed: Callable[[list[Any]], list[Any]]) -> None:
    """Every group of parameters that an optimizer is given becomes what `changed` makes of its list."""
    kind = torch.optim.Optimizer
    original = kind.add_param_group

    @functools.wraps(original)
    def add_param_group(self: Any, param_group: Any) -> None:
        if isinstance(param_group, dict) and "params" in param_group:
            (param_group,) = listed([param_group])
            if isinstance(param_group["params"], list):
                param_group["params"] = changed(param_group["params"])
        original(self, param_group)

    kind.add_param_group = add_param_group
