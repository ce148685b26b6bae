"""torch._dynamo is imported when it is needed, not by the first optimizer or checkpoint.

Since PyTorch 2.1 every optimizer imports it: to keep the compiler out of some of its functions (`torch._compile.
_disable_dynamo`) and to break a graph that is being compiled (`torch.optim.optimizer._use_grad_for_differentiable`).
Where nothing is compiled neither does anything, and the import takes about as long as torch's own. Checkpoints of 2.12
(`torch.utils.checkpoint`) keep it out of their hooks, and note one of its settings, which are a module of their own
and need no other. What stands in `sys.modules` until then answers these callers, and becomes the real module at
anybody's first other question.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import MappingProxyType, ModuleType
from typing import Any

from vramfit.base import process
from vramfit.base.importing import find_behind
from vramfit.private import torch as of_torch

NAME = of_torch.COMPILER
_CONFIG = f"{NAME}.config"
_KNOWN = frozenset(("__class__", "__spec__", "__name__", "__file__"))  # the import system and inspect ask every module


class _State:
    KEEPS = ("called_directly",)  # a thread that was loading when we forked is not there to let go

    def __init__(self) -> None:
        self.loading = threading.RLock()
        self.called_directly: list[Any] = []


_state = process.own(_State)
_PATIENCE = 60.0  # seconds: two threads that wait for each other's imports go on, as Python's own would


def _break_no_graph(*_: Any, **__: Any) -> None:
    """There is none."""


def _call_directly(function: Callable[..., Any], *_: Any, **__: Any) -> Callable[..., Any]:
    """The stand-in that `torch._compile` keeps at a function as its `__dynamo_disable`, until the compiler is there."""
    _state.called_directly.append(function)

    def direct(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **named)

    return direct


def _leave_as_it_is(function: Callable[..., Any], *_: Any, **__: Any) -> Callable[..., Any]:
    """Stands in for a hook that is made anew for each time that a forward runs again, and gone behind it."""
    return function


_CHECKPOINTS = "torch.utils.checkpoint"
_ANSWERS = MappingProxyType(
    {
        (of_torch.compile_module.name, "disable"): _call_directly,
        ("torch.optim.optimizer", "graph_break"): _break_no_graph,
        (_CHECKPOINTS, "disable"): _leave_as_it_is,
    }
)


def _name_of_asker() -> str:
    """The module whose code asks _Late for an attribute; C++ may ask with no Python below it."""
    try:
        return sys._getframe(2).f_globals.get("__name__", "")
    except ValueError:
        return ""


def _find_config(spec: ModuleSpec) -> ModuleType | None:
    """The settings alone, which the compiler takes over once it is loaded. None: they can't be had without it."""
    with _state.loading:
        known = sys.modules.get(_CONFIG)
        own = PathFinder.find_spec(_CONFIG, spec.submodule_search_locations) if known is None else None
        if own is None or own.loader is None:
            return known
        config = sys.modules[_CONFIG] = importlib.util.module_from_spec(own)
        try:
            own.loader.exec_module(config)
        except Exception:  # the compiler's own import tells of it
            sys.modules.pop(_CONFIG, None)
            return None
        return config


class _Late(ModuleType):
    def __getattribute__(self, name: str) -> Any:
        if name in _KNOWN:
            return ModuleType.__getattribute__(self, name)
        asker = _name_of_asker()
        answer: Any = _ANSWERS.get((asker, name))
        if answer is None and (asker, name) == (_CHECKPOINTS, "config"):
            answer = _find_config(ModuleType.__getattribute__(self, "__spec__"))
        if answer is not None:
            return answer
        _load(self)
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _KNOWN:
            _load(self)
        ModuleType.__setattr__(self, name, value)


class _Loading(ModuleType):
    """While one thread runs the module's code: to the others it is what it was before, or they wait."""

    def __getattribute__(self, name: str) -> Any:
        if name not in _KNOWN and ModuleType.__getattribute__(self, "_vramfit_loader") != threading.get_ident():
            answer = _ANSWERS.get((_name_of_asker(), name))
            if answer is not None:
                return answer
            if _state.loading.acquire(timeout=_PATIENCE):
                _state.loading.release()
        return ModuleType.__getattribute__(self, name)


def _is_late(module: ModuleType) -> bool:
    return type(module) is _Late


def _load(module: ModuleType) -> None:
    """Makes it the module that PyTorch meant. Who was called directly asks it the next time."""
    with _state.loading:
        if not _is_late(module):
            return
        module.__class__ = ModuleType
        module.__dict__["_vramfit_loader"] = threading.get_ident()
        module.__class__ = _Loading
        _forget_direct_calls()
        spec = module.__spec__
        assert spec is not None and isinstance(spec.loader, _Loader)
        spec.loader = module.__loader__ = spec.loader.late
        if _CONFIG in sys.modules:
            module.__dict__["config"] = sys.modules[_CONFIG]
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(NAME, None)  # as after any import that failed
            raise
        finally:
            module.__class__ = ModuleType
            module.__dict__.pop("_vramfit_loader", None)
            _forget_direct_calls()


def _forget_direct_calls() -> None:
    for function in list(_state.called_directly):
        vars(function).pop(of_torch.KEPT_DIRECT, None)
    _state.called_directly.clear()


class _Loader(importlib.abc.Loader):
    def __init__(self, late: Any) -> None:
        self.late = late

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.late.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = _Late


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return find_behind(self, _Loader, fullname, path, target) if fullname == NAME else None


def install() -> None:
    """Called after `importing.install()`: whoever waits for the import is called when it really happens."""
    sys.meta_path.insert(0, _Finder())
