"""Spares a run the passes of Python's garbage collector that can find nothing.

Importing torch and torchvision makes half a million objects that stay. The collector walks them again and again while
they are imported, and takes them apart once more when Python ends: together more than a third of a short run's time.

- While a large library is imported nothing is collected, and what it made counts as old from then on. Only before the
  first use of a device: from then on the moment at which a cycle's tensors go decides how much memory a job needs.
- When a run ends before its script would have, what is left is not searched for cycles. Files are flushed.

And a forked child (a loader's worker) collects nothing of its parent's: pinned memory can only be freed by the process
that pinned it, and a worker that tried would die of it.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import io
import os
import stat
from collections.abc import Iterator

from vramfit.base import process
from vramfit.private import torch as of_torch

_LARGE = frozenset({
    "accelerate", "datasets", "diffusers", "lightning", "pandas", "peft", "pytorch_lightning", "scipy", "sklearn",
    "sympy", "timm", "torch", "torchmetrics", "torchvision", "transformers",
})  # fmt: skip
_WRITERS = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.installed = False
        self.ends_early = False

    def in_child(self) -> None:
        if self.installed and _is_device_used():
            gc.freeze()


_state = process.own(_State)


def is_import_quiet(name: str) -> bool:
    """Whether this module is to be imported without collecting garbage."""
    return name.partition(".")[0] in _LARGE and gc.get_threshold()[0] != 0 and not _is_device_used()


def _is_device_used() -> bool:
    return bool(of_torch.is_initialized.get())


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing is collected meanwhile, unless the code asks for it. gc.isenabled() stays what it was."""
    before = gc.get_threshold()
    gc.set_threshold(0, *before[1:])
    try:
        yield
    finally:
        if gc.get_threshold()[0] == 0:
            gc.set_threshold(*before)
        if gc.get_freeze_count() == 0:
            gc.freeze()
            gc.unfreeze()  # into the oldest generation: the next young collection does not walk all of it


def run_ends_early() -> None:
    """The script will not come to its own end."""
    _state.ends_early = True


def does_run_end_early() -> bool:
    """Whether the script was stopped before its own end."""
    return _state.ends_early


def _leave_cycles() -> None:
    if not _state.ends_early:
        return
    if _writes_files():  # to look at every object there is takes 0.2 s
        for found in gc.get_objects():
            if issubclass(type(found), _WRITERS) and not found.closed:
                with contextlib.suppress(Exception):
                    found.flush()
    gc.freeze()


def _writes_files() -> bool:
    """Whether the process has a file open for writing that is neither a standard stream nor the recorder's."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the folder's own is closed again
            if int(name) > 2 and _is_users_output(int(name)):
                return True
    return False


def _is_users_output(number: int) -> bool:
    if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY or not stat.S_ISREG(os.fstat(number).st_mode):
        return False
    ours = os.environ.get("VRAMFIT_RUN_DIR")
    return not ours or not os.readlink(f"/proc/self/fd/{number}").startswith(ours + "/")


def install() -> None:
    """Called before anything else of the process registers with atexit: ours runs last."""
    atexit.register(_leave_cycles)
    _state.installed = True
