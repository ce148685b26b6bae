"""Keeps a fast virtual step from holding more communication memory than a real one.

c10d's watchdog thread wakes every 100 ms (ProcessGroupNCCL, kWatchdogThreadSleepMillis) and only then lets go of the
tensors of finished collectives. A real step mostly takes longer than that; a virtual one takes a few milliseconds, and
DistributedDataParallel's first buckets would still be held when their successors are made. So the first optimizer
steps of a job with several ranks wait for the watchdog.
"""

from __future__ import annotations

import time
from types import ModuleType
from typing import Any

from vramfit import events

WAIT_SECONDS = 0.25  # the watchdog's period, and time for it to be scheduled on a busy machine
STEPS = 6  # DDP rebuilds its buckets after the first; accumulation or two optimizers may delay that


def install(torch: ModuleType) -> None:
    left = [STEPS]

    def wait_for_watchdog(_optimizer: Any) -> None:
        distributed = torch.distributed
        if left[0] > 0 and distributed.is_available() and distributed.is_initialized():
            left[0] -= 1
            if "nccl" in str(distributed.get_backend()):
                torch.cuda.synchronize()  # virtual time moves with CUDA calls only: a sleep alone finishes nothing
                time.sleep(WAIT_SECONDS)

    events.step_end.listen(wait_for_watchdog)
