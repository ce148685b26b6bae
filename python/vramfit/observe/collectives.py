"""Keeps a fast virtual step from holding more communication memory than a real one.

c10d's watchdog thread wakes every 100 ms (ProcessGroupNCCL, kWatchdogThreadSleepMillis) and only then lets go of the
tensors of finished collectives. A real step mostly takes longer than that; a virtual one takes a few milliseconds, and
DistributedDataParallel's first buckets would still be held when their successors are made. So the first optimizer
steps of a job with several ranks wait until the watchdog has let go, however long a busy machine takes for that.

Also ends what a script that is stopped early can't end itself. Its destroy_process_group() is not reached, and what is
left at the end is not searched for cycles (garbage.py), so that the watchdog would still be at work while the C++
objects that it looks at are destroyed (c10::cuda::CUDAKernelLaunchRegistry): a process that dies of SIGABRT when the
machine is slow.
"""

from __future__ import annotations

import atexit
import contextlib
import time
from types import ModuleType
from typing import Any

from vramfit.base import events, garbage, process
from vramfit.private import torch as of_torch
from vramfit.private.names import nothing

_WATCHDOG_SECONDS = 0.25
STEPS = 6  # DDP rebuilds its buckets after the first; accumulation or two optimizers may delay that


class _State:
    def __init__(self) -> None:
        self.steps_left = STEPS


_state = process.own(_State)


def _end_groups(torch: ModuleType) -> None:
    """What the script's own end would have done. The watchdog's thread is joined in it."""
    distributed = torch.distributed
    if garbage.does_run_end_early() and distributed.is_available() and distributed.is_initialized():
        with contextlib.suppress(Exception):  # the job is over and its answer is written
            distributed.destroy_process_group()


def _wait_for_watchdog(torch: ModuleType) -> None:
    torch.cuda.synchronize()  # virtual time moves with CUDA calls only: waiting alone finishes nothing
    for group in list(of_torch.groups_of_world.of(of_torch.all_groups.get(), ())):
        try:
            of_torch.wait_for_works.of(group, nothing)()
        except RuntimeError:  # a group of several backends can't be asked: a few of the watchdog's periods
            time.sleep(_WATCHDOG_SECONDS)


def install(torch: ModuleType) -> None:
    atexit.register(_end_groups, torch)

    def wait_for_watchdog(_optimizer: Any) -> None:
        distributed = torch.distributed
        if _state.steps_left > 0 and distributed.is_available() and distributed.is_initialized():
            _state.steps_left -= 1
            if "nccl" in str(distributed.get_backend()):
                _wait_for_watchdog(torch)

    events.step_end.listen(wait_for_watchdog)
