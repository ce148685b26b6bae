"""The variables of running functions, read without keeping what they hold alive."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from vramfit.base import process
from vramfit.private import torch as of_torch

_INSTALLED = re.compile(
    r"/site-packages/|/dist-packages/|/torchinductor_|/torch_geometric\.nn\.|/lib/python3\.\d+t?/|^<frozen|/"
    + of_torch.GENERATED_FILES
)
_OUR_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/"
_MAX_DEPTH = 200


def is_ours(file: str) -> bool:
    return file.startswith(_OUR_FOLDER)


@process.cached()
def is_script(code: CodeType) -> bool:
    """Whether this is the user's own code: neither installed nor the standard library nor ours. Notebook cells are."""
    return is_script_file(code.co_filename)


def is_installed(file: str) -> bool:
    return _INSTALLED.search(file) is not None


def is_script_file(file: str) -> bool:
    generated = file.startswith("<") and not file.startswith(("<ipython", "<stdin>", "<string>"))
    return bool(file) and not (generated or is_ours(file) or _INSTALLED.search(file))


def place(frame: FrameType) -> str:
    """`train.py:84 in train`, as the recorder spells lines."""
    code = frame.f_code
    return spelled(code.co_filename, frame.f_lineno, getattr(code, "co_qualname", code.co_name))


def spelled(file: str, line: int, function: str) -> str:
    return f"{spelled_line(file, line)} in {function}"


def spelled_line(file: str, line: int) -> str:
    """`train.py:84`."""
    folder = os.getcwd() + "/"
    shown = file[len(folder) :] if file.startswith(folder) else file
    return f"{shown}:{line}"


def script_frames(frame: FrameType | None, most: int = _MAX_DEPTH) -> Iterator[FrameType]:
    """Those of the user's own functions on the stack, the innermost first; `most` frames are looked at."""
    for _ in range(most):
        if frame is None:
            return
        if is_script(frame.f_code):
            yield frame
        frame = frame.f_back


def script_line(frame: FrameType | None) -> str:
    """The innermost place of the user's own on the stack; empty when there is none."""
    return next((place(each) for each in script_frames(frame)), "")


def variables(frame: FrameType) -> dict[str, Any]:
    """A frame's local names. The caller drops the dict: nothing else holds it.

    Up to Python 3.12 `f_locals` is a copy that the frame keeps, and with it every tensor named there: it is emptied.
    """
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # module level and class bodies: the real names
        return dict(frame.f_locals)
    shown = frame.f_locals
    copied = dict(shown)
    if sys.version_info < (3, 13):
        shown.clear()
    return copied


def stacks() -> Iterator[FrameType]:
    """Every running frame of every thread, innermost first, without ours."""
    for innermost in sys._current_frames().values():
        frame: FrameType | None = innermost
        for _ in range(_MAX_DEPTH):
            if frame is None:
                break
            if not is_ours(frame.f_code.co_filename):
                yield frame
            frame = frame.f_back


def is_script_object(value: object) -> bool:
    """An object of a class of the script's own, with attributes."""
    module = sys.modules.get(type(value).__module__)
    file = getattr(module, "__file__", None)
    known = file is not None and not (is_ours(file) or _INSTALLED.search(file))
    return (
        hasattr(value, "__dict__") and not isinstance(value, type) and (known or type(value).__module__ == "__main__")
    )
