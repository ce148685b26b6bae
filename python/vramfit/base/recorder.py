"""The recorder's C interface (include/vramfit/vramfit.h) by ctypes.

The recorder is preloaded, so its functions are in the process already; where it is absent every call is a no-op.
`PyDLL` keeps the GIL: the functions return at once, and the recorder may check its reading of Python's frames only
while the GIL is held.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from vramfit.base import process
from vramfit.contract.fields import PhaseName
from vramfit.contract.functions import bind
from vramfit.contract.numbers import Memory, Owner, Phase, Stage

LOAD, TRAIN, VALIDATE = int(Phase.LOAD), int(Phase.TRAIN), int(Phase.VALIDATE)
TEST, SAVE = int(Phase.TEST), int(Phase.SAVE)
PHASE_NAMES = tuple(PhaseName(phase.name.lower()) for phase in Phase)
OTHER, FORWARD, BACKWARD = int(Stage.OTHER), int(Stage.FORWARD), int(Stage.BACKWARD)
OPTIMIZER, INPUT = int(Stage.OPTIMIZER), int(Stage.INPUT)
WEIGHT, GRADIENT, BUFFER = int(Owner.WEIGHT), int(Owner.GRADIENT), int(Owner.BUFFER)
OPTIMIZER_STATE, INPUT_BLOCK = int(Owner.OPTIMIZER), int(Owner.INPUT)
ACTIVATION, WORKSPACE, CACHE = int(Owner.ACTIVATION), int(Owner.WORKSPACE), int(Owner.CACHE)
AVERAGE, MASTER, QUANTIZATION = int(Owner.AVERAGE), int(Owner.MASTER), int(Owner.QUANTIZATION)
OTHER_MODEL = int(Owner.OTHER_MODEL)
ALLOCATED, PEAK_ALLOCATED, RESERVED, PEAK_RESERVED = map(int, Memory)


_library = ctypes.PyDLL(None)


def _function(name: str, otherwise: int | None = None) -> Callable[..., Any]:
    try:
        return bind(_library, "vramfit_" + name)
    except AttributeError:
        return lambda *_: otherwise


_intern = _function("intern", 0)
_note = _function("note")
_mark = _function("mark")
set_phase = _function("set_phase")
recorded = _function("recorded", 0)
relabel = _function("relabel")
set_stage = _function("set_stage")
set_scope = _function("set_scope", 0)
own_line = _function("own_line", 0)
inherit_line = _function("inherit_line", 0)
tag = _function("tag")
step = _function("step")
memory = _function("memory", -1)
reset_peaks = _function("reset_peaks")

_watch_lines = _function("watch_lines", 0)
_finds_lines = _function("finds_lines", 1)
_watch_rise = _function("watch_rise", 0)
_api_version = _function("api_version", 0)


def check() -> bool:
    """Whether the recorder is there. With the GIL held, as here, it also checks its reading of Python's frames."""
    return bool(_api_version() >= 1)


def finds_lines() -> bool:
    """Whether blocks are recorded with the script's own lines. Another layout of Python's frames has none."""
    return bool(_finds_lines())


class _State:
    def __init__(self) -> None:
        self.ids: dict[str, int] = {}  # of the strings in this process's recording


_state = process.own(_State)


def intern(text: str) -> int:
    """The id of a string in this process's recording; 0 when nothing is recorded."""
    known = _state.ids.get(text)
    if known is None:
        known = _state.ids[text] = _intern(text.encode("utf-8", "replace").replace(b"\0", b" "))
    return known


def note(line: str) -> None:
    """Appends one JSON object to this process's notes."""
    _note(line.encode("utf-8", "replace").replace(b"\0", b" "))


def watch_lines(watch: Callable[[Any, int], Any] | None) -> bool:
    """Has each line of wanted code told once; `watch` must live on. None ends it. In this thread."""
    return bool(_watch_lines(ctypes.c_void_p(id(watch)) if watch is not None else None))


def watch_rise(watch: Callable[[], Any], above: int, late: int, seconds: float) -> bool:
    """Has `watch`, which must live on, called once in the main thread when a card has more than `above` bytes
    allocated, or more than `late` after so many seconds."""
    return bool(_watch_rise(ctypes.c_void_p(id(watch)), above, late, seconds))


def mark(text: str) -> None:
    _mark(text.encode("utf-8", "replace").replace(b"\0", b" "))


def allocated() -> int:
    """Bytes in tensors, on all cards."""
    return total(ALLOCATED)


def total(quantity: int) -> int:
    """Bytes of one of PEAK_RESERVED, ALLOCATED and the like on all cards; 0 where nothing is recorded."""
    found = 0
    for device in range(16):
        level = memory(device, quantity)
        if level < 0 and device > 0:
            break
        found += max(level, 0)
    return found
