"""What there is more of whenever more memory is allocated than before, wherever the script is.

    allocated                 __/|__/|__/|      a look at each new height: tensors of the kinds that have become more
               __/|__/|__/|__/                  since the last one are searched for who holds them
    looks        1   2    3         4

Loops that come past no hook (`outs.append(torch.randn(...))`) are seen by nothing else; which of the script's lines
keep what they make is told by the recording (src/liveness/passes.h), and only holders are looked for here. A look
interrupts whatever Python runs, our own hooks too: it changes nothing but its own state.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from vramfit.base import notes, process, recorder
from vramfit.contract import notes as said
from vramfit.diagnose import cycles, groups, live_tensors
from vramfit.observe.phases import position

_LEAST_RISE = 64 << 10
_MORE = 2  # so large a part of what is allocated, one in this many, is a rise worth a look at any time
_REST = 20.0  # times as long as a look took, before a smaller rise is worth another
_MOST_OF_A_KIND = 4  # the latest are searched
_MOST_KINDS = 6
_BUDGET_SECONDS = 5.0  # of the processor


class _State:
    def __init__(self) -> None:
        self.watch: Any = None
        self.spent = 0.0
        self.before: dict[live_tensors.Signature, int] = {}  # bytes of a kind at the last look


_state = process.own(_State)


@notes.guarded("rises.look")
def _look() -> None:
    begun = time.thread_time()
    risen = _risen()
    if risen:
        tensors = groups.describe(risen)
        notes.note(said.HeldAtRise(at_ns=time.monotonic_ns(), tensors=tensors))
        risen.clear()
        if cycles.are_possible(tensors) and not position.optimizers:
            cycles.collect()
    took = time.thread_time() - begun
    _state.spent += took
    if _state.spent < _BUDGET_SECONDS:
        _look_again(took)


def _risen() -> list[Any]:
    """Some of each kind of which there are more bytes than at the last look."""
    known = live_tensors.known_storages()
    parameter = sys.modules["torch"].nn.Parameter
    kinds: dict[live_tensors.Signature, list[Any]] = {}
    for tensor in live_tensors.without(live_tensors.find_all(), known):
        if not isinstance(tensor, parameter):
            kinds.setdefault(live_tensors.signature_of(tensor), []).append(tensor)
    levels = {kind: sum(map(live_tensors.storage_bytes, tensors)) for kind, tensors in kinds.items()}
    more = {kind: level - _state.before.get(kind, 0) for kind, level in levels.items()}
    _state.before = levels
    most = sorted((kind for kind in more if more[kind] > 0), key=lambda kind: -more[kind])[:_MOST_KINDS]
    return [tensor for kind in most for tensor in kinds[kind][-_MOST_OF_A_KIND:]]


def _look_again(took: float) -> None:
    level = recorder.allocated()
    recorder.watch_rise(_state.watch, level + max(_LEAST_RISE, level // _MORE), level + _LEAST_RISE, took * _REST)


def install() -> None:
    _state.watch = _look
    _look_again(0.0)
