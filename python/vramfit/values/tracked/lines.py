"""The script's line that asks for a value, and what was assumed there."""

from __future__ import annotations

import os
import re
import sys
from types import FrameType

from vramfit.base import notes, process
from vramfit.contract import notes as said

_INSTALLED = re.compile(r"/site-packages/|/dist-packages/|/torchinductor_|/torch_geometric\.nn\.|/lib/python3\.\d+t?/")
_OUR_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + "/"


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.seen: set[tuple[object, int, str]] = set()
        self.noted: set[tuple[str, str]] = set()


_state = process.own(_State)


def own_line(frame: FrameType | None) -> str:
    """`train.py:84 in train`: the innermost frame of the user's own; without one, the innermost that isn't ours."""
    outside = ""
    while frame is not None:
        file, code = frame.f_code.co_filename, frame.f_code
        if not is_ours(frame):
            text = f"{_relative(file)}:{frame.f_lineno} in {code.co_name}"
            if not _INSTALLED.search(file):
                return text
            if not _is_torch(file):
                outside = outside or text
        frame = frame.f_back
    return outside


def is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith((_OUR_FOLDER, "<"))


def is_dispatch(frame: FrameType) -> bool:
    """Whether a frame is of torch, where operators pass through: not of its layers and weights."""
    file = frame.f_code.co_filename
    return _is_torch(file) and not file.startswith(_torch_folder() + "nn/")


def is_users_file(file: str) -> bool:
    return not file.startswith((_OUR_FOLDER, "<")) and not _INSTALLED.search(file)


def asking_line() -> tuple[object, int] | None:
    """A key for the innermost line outside of torch and of ours."""
    frame = asking_frame()
    return None if frame is None else (frame.f_code, frame.f_lineno)


def asking_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (is_ours(frame) or _is_torch(frame.f_code.co_filename)):
        frame = frame.f_back
    return frame


def say(what: str, is_branch: bool = False) -> None:
    """Notes once for each line that `what` was decided by values that were not computed."""
    key = asking_line()
    if key is None or (*key, what) in _state.seen:
        return
    _state.seen.add((*key, what))
    line = own_line(sys._getframe(1))
    if (what, line) not in _state.noted:
        _state.noted.add((what, line))
        notes.note(said.DataRead(what=what, line=line, is_branch=is_branch))


@process.cached()
def _torch_folder() -> str:
    return os.path.dirname(sys.modules["torch"].__file__ or "") + "/"


def _is_torch(file: str) -> bool:
    return file.startswith(_torch_folder())


def _relative(file: str) -> str:
    folder = os.getcwd() + "/"
    return file[len(folder) :] if file.startswith(folder) else file
