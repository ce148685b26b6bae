"""Values on a virtual card: `cpu` here, `tracked` in the folder of that name.

`--values cpu`: every operator that runs on a virtual card is run once more on the CPU, over the same bytes.

The virtual card's kernels do nothing, but its memory is host memory. Re-running each operator on the CPU over those
bytes gives exact losses, and exact sizes where a size depends on data (`nonzero`, boolean masks, non-maximum
suppression). Memory is still PyTorch's own: the operator runs on the card first, with all its temporaries.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from vramfit.base import importing, notes, process
from vramfit.contract import asked
from vramfit.contract import notes as said
from vramfit.contract.functions import bind, find_virtual_gpu
from vramfit.private import python as of_python
from vramfit.private import torch as of_torch

_COMPILE_NOTE = "torch.compile was switched off: compiled kernels cannot be run on the CPU, so operators run one by one"


def policy() -> str:
    """`zeros`, `tracked` or `cpu`; on a real card there is nothing to compute."""
    is_real = os.environ.get("VRAMFIT_REAL") == "1"
    return asked.VALUES_ZEROS if is_real else os.environ.get("VRAMFIT_VALUES") or asked.VALUES_ZEROS


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.installed = False
        self.modes: list[Any] = []  # torch 2.6 drops the last reference to a mode while it prints a tensor


_state = process.own(_State)


def install(torch: ModuleType) -> None:
    """Switches computed values on in this process. Under `cpu` compiled code is run eagerly."""
    if _state.installed:
        return
    _state.installed = True
    if policy() == asked.VALUES_TRACKED:
        _track()
        return
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    _keep_freed_memory()
    _enter(_exact)
    importing.after_import(of_torch.COMPILER, lambda _: notes.note(said.Values(text=_COMPILE_NOTE)))


def join_rows(torch: ModuleType) -> None:
    """Sparse tensors of the card have rows, whether or not their values are computed."""
    from vramfit.values import sparse_rows

    sparse_rows.install()


def keep_objects(torch: ModuleType) -> None:
    """Under either policy the object collectives of torch.distributed keep their contents."""
    if policy() == asked.VALUES_ZEROS:
        from vramfit.values import objects

        objects.install(torch)


def _keep_freed_memory() -> None:
    """The C library gives large blocks back to the system at once: each operator's temporaries would be new pages."""
    m_mmap_threshold, m_trim_threshold = -3, -1  # glibc's malloc.h; others' mallopt knows neither, and refuses
    try:
        library = ctypes.CDLL(None)
        library.mallopt(m_mmap_threshold, 1 << 30)
        library.mallopt(m_trim_threshold, (1 << 31) - 1)
    except AttributeError:
        return


def _exact() -> Any:
    from vramfit.values.mode import CpuValues

    return CpuValues()


def _track() -> None:
    if find_virtual_gpu() is None:
        return
    from vramfit.values.tracked import states
    from vramfit.values.tracked.mode import TrackedValues

    states.begin()
    _enter(TrackedValues)


def _enter(make: Callable[[], Any]) -> None:
    """Dispatch modes belong to a thread; DataParallel and user threads run operators of their own."""
    from vramfit.values.own_thread import THREAD_NAME

    _stay_out_of_traces()

    def enter() -> None:
        mode = make()
        _state.modes.append(mode)
        mode.__enter__()
        _hide_from_operators(mode)

    enter()
    start = of_python.bootstrap_thread.get()

    def start_with_values(self: threading.Thread) -> None:
        if self.name != THREAD_NAME:
            enter()
        start(self)

    of_python.bootstrap_thread.replace(start_with_values)


@notes.guarded("hide modes")
def _hide_from_operators(mode: Any) -> None:
    """`mode`, which this thread has entered: operators and derivatives take the memory that they take without it
    (virtual_gpu/preload/dispatch_modes.cc)."""
    try:
        hide = bind(ctypes.PyDLL(None), "vramfit_own_dispatch_mode")
    except AttributeError:
        return
    if any(each.is_gone() for each in of_torch.MODES_OF_THREADS):
        return
    if not hide(id(mode), id(type(mode))):
        notes.layout_unknown("the stack of dispatch modes", of_torch.MODES_OF_THREADS[0].lost)


def _stay_out_of_traces() -> None:
    """The tracer of TorchScript loses sight of what a dispatch mode hands on, though it be what PyTorch itself made.
    A trace and its check are of no step of the script's: their values may be unknown. What it fuses are kernels of the
    card, which no CPU can run."""
    jit = sys.modules["torch.jit"]
    for name in ("trace", "trace_module"):
        setattr(jit, name, _without_modes(getattr(jit, name)))
    of_torch.fuse_scripts.get()(False)


def _without_modes(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def trace(*args: Any, **kwargs: Any) -> Any:
        with of_torch.without_modes.get()():
            return original(*args, **kwargs)

    return trace
