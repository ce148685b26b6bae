"""Averages of the weights that a script keeps: other tensors of the same shapes.

    a module beside what is trained      by its parameters' names (copy.deepcopy, AveragedModel)
    tensors by the weights' names        a dict, as of state_dict()
    tensors in the weights' order        a list, a tuple, a deque, or a dict by anything else: each shape of the weights
                                         comes after the one before, with others between (buffers of a state_dict)

Left out are the weights themselves, their gradients and the optimizers' own state.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from vramfit.contract import notes as said
from vramfit.observe import scopes

_Key = tuple[str, tuple[int, ...]]  # a weight's name and shape
_MOST_IN_A_SEQUENCE = 1 << 16  # longer ones are data


def find(
    torch: Any, trained: dict[_Key, Any], optimizers: list[Any]
) -> Iterator[tuple[said.TensorKind, str, _Key, Any]]:
    """Each tensor's kind and index in notes (training_tensor), the weight that it may have begun as, and the tensor."""
    roots = [module for _, module in scopes.live_roots()]
    own = {id(parameter) for module in roots for parameter in module.parameters()}
    everything = gc.get_objects()
    by_names: list[dict[str, Any]] = [*_modules(torch, everything, roots, set(trained), own)]
    by_names += _mappings(torch, everything, set(trained), own)
    for number, tensors in enumerate(by_names):
        for name, tensor in tensors.items():
            yield "average", f"{number}.{name}", (name, tuple(tensor.shape)), tensor
    known = {id(tensor) for tensors in by_names for tensor in tensors.values()} | own | _of_optimizers(optimizers)
    for number, in_order in enumerate(_sequences(torch, everything, roots, known)):
        for key, tensor in in_order:
            yield "average_in_order", f"{number}.{key[0]}", key, tensor


def _modules(
    torch: Any, everything: list[Any], roots: list[Any], keys: set[_Key], own: set[int]
) -> Iterator[dict[str, Any]]:
    inner = {id(part) for module in roots for part in module.modules()}
    modules = [o for o in everything if isinstance(o, torch.nn.Module) and id(o) not in inner]
    parts = {id(part) for module in modules for part in module.modules() if part is not module}
    for module in modules:
        if id(module) not in parts:
            tensors = {name.removeprefix("module."): parameter for name, parameter in module.named_parameters()}
            if _are_alike(torch, tensors, keys, own):
                yield tensors


def _mappings(torch: Any, everything: list[Any], keys: set[_Key], own: set[int]) -> Iterator[dict[str, Any]]:
    names = {name for name, _ in keys}
    for mapping in everything:
        if type(mapping) is dict and names and names <= {key for key in mapping if isinstance(key, str)}:
            tensors = {name: mapping[name] for name in names}
            if _are_alike(torch, tensors, keys, own):
                yield tensors


def _are_alike(torch: Any, tensors: dict[str, Any], keys: set[_Key], own: set[int]) -> bool:
    return bool(tensors) and all(
        isinstance(tensor, torch.Tensor) and id(tensor) not in own and (name, tuple(tensor.shape)) in keys
        for name, tensor in tensors.items()
    )


def _of_optimizers(optimizers: list[Any]) -> set[int]:
    """The tensors of the optimizers' state, and gradients."""
    found = set()
    for optimizer in optimizers:
        for state in optimizer.state.values():
            found.update(id(value) for value in (state.values() if isinstance(state, dict) else ()))
        for group in optimizer.param_groups:
            found.update(id(parameter.grad) for parameter in group["params"])
    return found


def _sequences(
    torch: Any, everything: list[Any], roots: list[Any], known: set[int]
) -> Iterator[list[tuple[_Key, Any]]]:
    wanted = []
    for module in roots:
        keys = [(name, tuple(p.shape)) for name, p in module.named_parameters() if p.requires_grad]
        if len(keys) > 1:  # of one weight any tensor of its shape would be an average
            wanted.append(keys)
    seen: set[int] = set()  # of the first tensor: a list and a copy of it hold the same
    for holder in everything:
        values = _values_of(holder)
        if values is None:
            continue
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        for keys in wanted:
            matched = _in_order(tensors, keys) if len(tensors) >= len(keys) else None
            if matched and not seen & {id(tensor) for tensor in matched} and not known & {id(t) for t in matched}:
                seen.update(id(tensor) for tensor in matched)
                yield list(zip(keys, matched))
                break


def _values_of(holder: Any) -> Iterable[Any] | None:
    """The values of containers that run no code of the script's when they are looked into."""
    if type(holder) in (list, tuple, deque):
        return holder if 1 < len(holder) <= _MOST_IN_A_SEQUENCE else None
    if isinstance(holder, dict):
        return list(dict.values(holder)) if 1 < dict.__len__(holder) <= _MOST_IN_A_SEQUENCE else None
    return None


def _in_order(tensors: list[Any], keys: list[_Key]) -> list[Any] | None:
    matched = []
    for tensor in tensors:
        if tuple(tensor.shape) == keys[len(matched)][1] and tensor.is_floating_point():
            matched.append(tensor)
            if len(matched) == len(keys):
                return matched
    return None
