"""When a model was called before the first optimizer step, if one comes: each call is a pass of the loop around it.

Of a loop that comes past no loader and no step nothing else tells where a pass begins: the layers of one forward pass
come round too. What is held when the next call begins is what the pass before it has kept (src/liveness/growth.cc).
"""

from __future__ import annotations

import atexit
import time
from typing import Any

from vramfit.base import events, notes, process
from vramfit.contract import notes as said
from vramfit.observe import scopes

_MOST_TIMES = 4096  # of a model; then every second is kept


class _Calls:
    def __init__(self) -> None:
        self.times: list[int] = []
        self.count = 0
        self.stride = 1

    def add(self) -> None:
        if self.count % self.stride == 0:
            self.times.append(time.monotonic_ns())
        self.count += 1
        if len(self.times) >= _MOST_TIMES:
            self.times = self.times[::2]
            self.stride *= 2


class _State:
    def __init__(self) -> None:
        self.of_model: dict[int, _Calls] = {}
        self.is_noted = False
        self.stepped = False  # an optimizer has


_state = process.own(_State)


def _before_root(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    root = scopes.root_of(module)
    if _state.stepped or root is None or not root.parameters:
        return
    _state.of_model.setdefault(id(scopes.unwrap(module)), _Calls()).add()


def _tell(*_: Any) -> None:
    if _state.is_noted or not _state.of_model:
        return
    _state.is_noted = True
    most = max(_state.of_model.values(), key=lambda calls: calls.count)
    notes.note(said.ModelCalls(stride=most.stride, begun_ns=most.times))


def _after_step(*_: Any) -> None:
    _state.stepped = True


def install() -> None:
    events.step_end.listen(_after_step)
    events.root_enter.listen(_before_root)
    events.before_stop.listen(_tell)
    atexit.register(_tell)
