"""`--values cpu`: every operator that runs on a virtual card is run once more on the CPU, over the same bytes.

The virtual card's kernels do nothing, but its memory is host memory. Re-running each operator on the CPU over those
bytes gives exact losses, and exact sizes where a size depends on data (`nonzero`, boolean masks, non-maximum
suppression). Memory is still PyTorch's own: the operator runs on the card first, with all its temporaries.
"""

from __future__ import annotations

import os
import threading
from types import ModuleType

from vramfit import importing, notes

_COMPILE_NOTE = "torch.compile was switched off: compiled kernels cannot be run on the CPU, so operators run one by one"


def are_wanted() -> bool:
    return os.environ.get("VRAMFIT_VALUES") == "cpu"


_state = {"installed": False}


def install(torch: ModuleType) -> None:
    """Switches exact values on in this process. Compiled code is run eagerly."""
    if _state["installed"]:
        return
    _state["installed"] = True
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    _enter()
    importing.after_import(
        "torch._dynamo", lambda _: notes.note("values", operator="torch.compile", text=_COMPILE_NOTE)
    )


def keep_objects(torch: ModuleType) -> None:
    """Under either policy the object collectives of torch.distributed keep their contents."""
    if not are_wanted():
        from vramfit.values import objects

        objects.install(torch)


def _enter() -> None:
    from vramfit.values.mode import CpuValues

    CpuValues().__enter__()
    _enter_in_new_threads()


def _enter_in_new_threads() -> None:
    """Dispatch modes belong to a thread; DataParallel and user threads run operators of their own."""
    from vramfit.values.aside import THREAD_NAME

    start = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def start_with_values(self: threading.Thread) -> None:
        from vramfit.values.mode import CpuValues

        if self.name != THREAD_NAME:
            CpuValues().__enter__()
        start(self)

    threading.Thread._bootstrap_inner = start_with_values  # type: ignore[attr-defined]
