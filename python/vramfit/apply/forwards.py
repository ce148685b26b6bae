"""Another way through the forward of chosen modules, that leaves nothing in them.

An attribute `forward` of a module is pickled and copied with it: torch.save(model) fails at it, and a deepcopy would
call the module it was copied from. So the class gets a forward that asks whether this very module was chosen: pickles
are as without a plan, and a copy is an ordinary module.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch

from vramfit.apply import foreign_forwards, torch_script
from vramfit.base import process
from vramfit.private import torch as of_torch

# Called with the module and with what it would have called, which takes what follows.
Way = Callable[..., Any]
IsCopy = Callable[[Any], bool]


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.ways: weakref.WeakKeyDictionary[Any, list[tuple[type, Way]]] = weakref.WeakKeyDictionary()
        self.classes: set[type] = set()
        self.of_copies: dict[type, tuple[IsCopy, Way]] = {}  # by the class of what was copied


class _Running(threading.local):
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.calls = 0  # of modules that go another way: what is called in them is a part, and no copy


_state = process.own(_State)
_running = process.own(_Running)


def replace(module: Any, way: Way, is_copy: IsCopy | None = None) -> None:
    """Calls of this module's forward become `way(module, forward, *args, **kwargs)`; the last way given is outermost.

    `way` must not hold the module: it would live for ever. `is_copy` tells, of another module of its class, whether it
    was copied from one that goes this way (an average of it) and has to go it too.
    """
    if is_copy is not None:
        _state.of_copies[type(module)] = is_copy, way
    # A library has put its own there: accelerate, peft. TorchScript finds its forward in the compiled module, once, and
    # copies and saves that alone.
    if "forward" in vars(module) or foreign_forwards.is_scripted(module):
        _replace_own(module, way)
        return
    owner = next(kind for kind in type(module).__mro__ if "forward" in vars(kind))
    _state.ways.setdefault(module, []).append((owner, way))
    if owner not in _state.classes:
        _state.classes.add(owner)
        torch_script.hide_from(torch, owner, "forward")
        owner.forward = _asking(owner, vars(owner)["forward"])  # type: ignore[attr-defined]


def is_hooked(module: Any) -> bool:
    """Whether the script has functions called around this very module's forward."""
    return bool(of_torch.forward_hooks.of(module, {}) or of_torch.forward_pre_hooks.of(module, {}))


def _replace_own(module: Any, way: Way) -> None:
    own = module.forward

    @functools.wraps(own)
    def forward(*args: Any, **kwargs: Any) -> Any:
        return own(*args, **kwargs) if torch.jit.is_tracing() else way(module, own, *args, **kwargs)

    vars(module)["forward"] = forward  # TorchScript takes no function for an attribute of the module that it compiled


def _asking(owner: type, original: Any) -> Any:
    @functools.wraps(original)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = functools.partial(original, self)
        if torch.jit.is_tracing():  # of the module as it is
            return call(*args, **kwargs)
        if self not in _state.ways and type(self) in _state.of_copies:
            is_copy, copied = _state.of_copies[type(self)]
            if not _running.calls and is_copy(self):
                replace(self, copied)
        ways = [way for of, way in _state.ways.get(self, ()) if of is owner]  # not a class below, which calls this one
        for way in ways:
            call = functools.partial(way, self, call)
        _running.calls += bool(ways)
        try:
            return call(*args, **kwargs)
        finally:
            _running.calls -= bool(ways)

    return forward
