"""The names of modules: every module of a root, named as in the root's named_modules()."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from vramfit.base import process, recorder
from vramfit.private import deepspeed as of_deepspeed
from vramfit.private import torch as of_torch

# Wrappers that hold the real module under one attribute; their own names say nothing about the model.
_WRAPPERS = MappingProxyType(
    {
        "DistributedDataParallel": "module",
        "DataParallel": "module",
        "FullyShardedDataParallel": "module",
        "OptimizedModule": of_torch.original_module.name,
    }
)


@dataclass
class Root:
    """A module that was called while none was running."""

    module: weakref.ref[Any]
    name: str
    class_name: str
    prefix: str  # of its modules' names: empty for the first root with parameters
    parameters: int
    parameter_bytes: int


class _State:
    """String ids are of this process's recording: a forked child learns names again at its next root."""

    def __init__(self) -> None:
        self.roots: dict[int, Root] = {}  # by id() of the unwrapped module
        self.scopes: dict[int, tuple[weakref.ref[Any], int]] = {}  # by id() of a module: itself, its string id
        self.names: dict[int, str] = {}


_state = process.own(_State)


def is_there(tensor: Any) -> bool:
    """False for what a lazy module has not made yet: it has no size, and refuses every question."""
    return type(tensor).__name__ not in ("UninitializedParameter", "UninitializedBuffer")


def unwrap(module: Any) -> Any:
    """The module inside data-parallel and compile wrappers."""
    for _ in range(8):
        attribute = _WRAPPERS.get(type(module).__name__)
        inner = getattr(module, attribute, None) if attribute else None
        if inner is None:
            return module
        module = inner
    return module


def scope_of(module: Any, is_root: bool) -> int:
    """The string id of a module's name; a root's modules are named when it is first met."""
    known = _state.scopes.get(id(module))
    if known is not None and known[0]() is module:
        return known[1]
    if is_root:
        learn_root(module)
    else:
        _learn(module, type(module).__name__, "")  # not registered under any root we know
    return _state.scopes[id(module)][1]


def name_of(module: Any) -> str:
    """Empty for a root, and for a module that no root has: a loss made within a forward."""
    known = _state.scopes.get(id(module))
    if known is not None and known[0]() is module:
        return _state.names.get(id(module), "")
    return ""


def _learn(module: Any, scope: str, name: str) -> None:
    _state.scopes[id(module)] = (weakref.ref(module), recorder.intern(scope))
    _state.names[id(module)] = name


def root_of(module: Any) -> Root | None:
    root = _state.roots.get(id(unwrap(module)))
    return root if root is not None and root.module() is unwrap(module) else None


def _numel(parameter: Any) -> int:
    """Also of one that DeepSpeed's ZeRO 3 has spread over the ranks: it is empty outside of its module's forward."""
    return int(of_deepspeed.whole_size.of(parameter, 0) or parameter.numel())


def forget(module: Any) -> None:
    """Its modules are named when they are next met."""
    for part in module.modules():
        _state.scopes.pop(id(part), None)
        _state.names.pop(id(part), None)


def learn_root(module: Any) -> Root:
    known = root_of(module)
    if known is not None and id(module) in _state.scopes and _state.scopes[id(module)][0]() is module:
        return known
    inner = unwrap(module)
    sizes = [(n := _numel(p), n * p.element_size()) for p in filter(is_there, inner.parameters())]
    class_name = type(inner).__name__
    is_main = bool(sizes) and not any(root.parameters and root.module() is not None for root in _state.roots.values())
    prefix = "" if is_main or not sizes else f"{class_name}/"
    if known is not None:
        prefix = known.prefix
    for name, child in inner.named_modules():
        name = prefix + name if name else ""
        _learn(child, name or class_name, name)
    wrapper = module
    while wrapper is not inner:
        _learn(wrapper, class_name, "")
        wrapper = getattr(wrapper, _WRAPPERS[type(wrapper).__name__])
    root = Root(
        module=weakref.ref(inner),
        name=class_name,
        class_name=f"{type(inner).__module__}.{class_name}",
        prefix=prefix,
        parameters=sum(n for n, _ in sizes),
        parameter_bytes=sum(b for _, b in sizes),
    )
    _state.roots[id(inner)] = root
    return root


def live_roots() -> Iterator[tuple[Root, Any]]:
    """Roots that still exist, with their modules; the largest first."""
    for root in sorted(_state.roots.values(), key=lambda r: -r.parameters):
        module = root.module()
        if module is not None:
            yield root, module
