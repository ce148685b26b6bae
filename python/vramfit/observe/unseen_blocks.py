"""Whether PyTorch's allocator told of what it gave: by its own count, which needs none of our hooks.

All that is known of blocks comes by a call that libc10 makes for its profiler (recorder/profiler_calls.cc). Where it
makes none, another allocator's or another release's, a run would be said to fit with nothing in it.
"""

from __future__ import annotations

import atexit
from types import ModuleType

from vramfit.base import events, notes, process, recorder
from vramfit.contract import notes as said

_COUNTED = ("allocation.all.allocated", "allocated_bytes.all.peak")  # cudaMallocAsync has the second alone


class _State:
    def __init__(self) -> None:
        self.is_told = False


_state = process.own(_State)


def install(torch: ModuleType) -> None:
    events.before_stop.listen(lambda: _look(torch))
    atexit.register(_look, torch)


@notes.guarded("unseen blocks")
def _look(torch: ModuleType) -> None:
    if _state.is_told or not torch.cuda.is_initialized():
        return
    cards = range(torch.cuda.device_count())
    if any(recorder.memory(card, recorder.ALLOCATED) >= 0 for card in cards):
        return
    backend = torch.cuda.get_allocator_backend()
    try:
        given = [torch.cuda.memory_stats(card).get(counted, 0) for card in cards for counted in _COUNTED]
    except RuntimeError:  # an allocator of the script's own counts nothing
        given = []
    if given and not any(given):
        return
    _state.is_told = True
    notes.note(said.BlocksUnseen(torch=torch.__version__, allocator=backend))
