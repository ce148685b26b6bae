"""What the script's variables hold at the moment of an out-of-memory error.

PyTorch calls an observer when the driver has refused, before it raises: the functions that lead there still run, so
their variables have names. The error itself may be caught; every one is looked at, up to a few.
"""

from __future__ import annotations

import time
from typing import Any

from vramfit.base import notes, process
from vramfit.contract import notes as said
from vramfit.diagnose import groups, inputs, live_tensors
from vramfit.observe.ownership import census
from vramfit.private import torch as of_torch

_MAX_MOMENTS = 3
_MIN_BYTES = 1 << 16


class _State:
    def __init__(self) -> None:
        self.seen = 0


_state = process.own(_State)


@notes.guarded("failure.observer")
def _out_of_memory(device: int, tried: int, device_total: int, device_free: int) -> None:
    _state.seen += 1
    if _state.seen > _MAX_MOMENTS:
        return
    census.tell_all()
    inputs.note_unfinished()
    known = live_tensors.known_storages()
    left = list(live_tensors.without(live_tensors.find_all(), known))
    notes.note(
        said.HeldAtOom(
            at_ns=time.monotonic_ns(),
            tensors=[entry for entry in groups.describe(left) if entry.bytes >= _MIN_BYTES],
        )
    )


def install(torch: Any) -> None:
    # What raises in a call that waits for the card becomes the job's own error.
    attach = notes.guarded("failure.attach")(lambda: of_torch.attach_oom_observer(_out_of_memory))
    of_torch.lazy_call(attach)
