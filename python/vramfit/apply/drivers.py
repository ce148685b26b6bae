"""Who draws a loader's batches: it has to be a `for` over the loader. A script that counts steps must not see more."""

from __future__ import annotations

import dis
import inspect
import os
import re
from types import FrameType

from vramfit.apply import accelerate_batches
from vramfit.observe import loaders

_LIBRARY = re.compile(r"/site-packages/|/dist-packages/")
_ITERATORS = (loaders.__name__, accelerate_batches.__name__)  # modules with an iterator of ours


def driver_of(frame: FrameType | None) -> FrameType | None:
    """The first frame below our iterator on the stack."""
    while frame is not None and frame.f_globals.get("__name__") not in _ITERATORS:
        frame = frame.f_back
    while frame is not None and frame.f_globals.get("__name__") in _ITERATORS:
        frame = frame.f_back
    return frame


def why_not_in_parts(frame: FrameType | None) -> str:
    if frame is None:
        return ""
    where = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
    if dis.opname[frame.f_code.co_code[frame.f_lasti]] != "FOR_ITER":
        return (
            f"batches are drawn one by one ({where}): the loop counts steps, or draws ahead, and would see "
            f"micro-batches in place of batches"
        )
    is_own = not _LIBRARY.search(frame.f_code.co_filename)
    if is_own and frame.f_code.co_flags & inspect.CO_GENERATOR:
        return f"batches come through a generator of the script's ({where}): its loop counts steps by itself"
    return ""
