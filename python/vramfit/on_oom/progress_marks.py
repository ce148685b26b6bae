"""How far the card has come, for errors that CUDA reports at a later call than the one that failed.

Every five milliseconds at most, when a module is called, a number is sent through the card's own queue of work into
page-locked memory of the host. Work is done in order, so after an error the number there says which modules the card
had come past: the failing kernel was launched between that module's call and the next mark's. Kernels need not wait
for anything, as they do under CUDA_LAUNCH_BLOCKING.

    host    mark 7: layer1.conv1     mark 8: layer3.conv2     mark 9: head          <- the error is reported here
    card    ... 7 ............ X                                                       the last number that came: 7

It costs 4 KiB of the card and some 30 us a mark; only the current device's current stream is marked.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any

from vramfit.base import frames, process
from vramfit.private import torch as of_torch

PERIOD_SECONDS = 0.005
MARKS = 1024  # then the numbers begin again


@dataclass
class Mark:
    """A module that was called."""

    module: str
    line: str


@dataclass
class Place:
    """The place between the mark that the card had come past and the one it had not come to."""

    after: Mark | None
    before: Mark | None
    device: int


class _Device:
    def __init__(self, torch: Any, device: int) -> None:
        self.numbers = torch.arange(MARKS, dtype=torch.int32).to(f"cuda:{device}")
        self.arrived = torch.full((1,), -1, dtype=torch.int32).pin_memory()
        self.marks: list[Mark | None] = [None] * MARKS
        self.count = 0


class _State:
    KEEPS = ("next",)

    def __init__(self) -> None:
        self.devices: dict[int, _Device | None] = {}
        self.next = 0.0  # when a mark is due


_state = process.own(_State)


def begin(torch: Any) -> None:
    from torch.nn.modules import module

    warnings.filterwarnings("ignore", message="Using `torch.compile\\(module\\)` when there are global hooks")
    module.register_module_forward_pre_hook(_make_hook(torch))


def _make_hook(torch: Any) -> Any:
    is_compiling = torch.compiler.is_compiling
    clock = time.perf_counter

    def called(module: Any, args: Any) -> None:
        if is_compiling():
            return
        now = clock()
        if now >= _state.next:
            _state.next = now + PERIOD_SECONDS
            try:
                _send(torch, module)
            except Exception:  # a stream that is being captured, an error that is on its way already
                _state.next = now + 1.0

    return called


def _send(torch: Any, module: Any) -> None:
    if _is_watched(torch) or torch.cuda.is_current_stream_capturing():
        return
    device = torch.cuda.current_device()
    if device not in _state.devices:
        _state.devices[device] = None  # so that an error in the next line is met once
        _state.devices[device] = _Device(torch, device)
    state = _state.devices[device]
    if state is None:
        return
    slot = state.count % MARKS
    state.marks[slot] = Mark(type(module).__name__, frames.script_line(sys._getframe(2)))
    state.count += 1
    with torch.no_grad():
        state.arrived.copy_(state.numbers[slot : slot + 1], non_blocking=True)


def _is_watched(torch: Any) -> bool:
    """Whether a mode looks at every operator (fake tensors, tracing): ours would be seen."""
    return of_torch.runs_in_mode()


def storages() -> set[int]:
    """The storages where our own numbers lie on the cards."""
    return {int(state.numbers.untyped_storage().data_ptr()) for state in _state.devices.values() if state is not None}


def places() -> list[Place]:
    """The place where each card was. Reads host memory only: after an error the card answers nothing."""
    found = []
    for device, state in _state.devices.items():
        if state is None or state.count == 0:
            continue
        arrived = int(state.arrived[0])
        last = (state.count - 1) % MARKS
        if arrived == last:
            found.append(Place(state.marks[last], None, device))
        else:
            following = (arrived + 1) % MARKS
            found.append(Place(state.marks[arrived] if arrived >= 0 else None, state.marks[following], device))
    return found
