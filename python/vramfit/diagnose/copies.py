"""Copies on a card of what is there already, and host tensors moved there twice.

A copy is needless where at the end of the forward pass both still live and neither was changed: the storages are
watched, not the tensors, because autograd may be what keeps them. Conversions to another type are no copies.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from vramfit.base import events, frames, notes, process, recorder
from vramfit.contract import notes as said
from vramfit.diagnose import live_tensors, patches
from vramfit.observe import owners
from vramfit.observe.phases import position
from vramfit.private import torch as of_torch

_MIN_BYTES = 1 << 20
_MAX_WATCHED = 2000  # copies of one step
_MAX_NOTES = 40


class _State:
    def __init__(self) -> None:
        self.watched: list[_Copy] = []
        self.noted: dict[tuple[str, str], int] = {}  # (operation, line) -> bytes


_state = process.own(_State)


@dataclass
class _Copy:
    operation: str
    line: str
    from_host: bool
    source: weakref.ref[Any]
    source_storage: Any  # StorageWeakRef
    source_version: int
    source_key: tuple[int, int]  # address and version, for host tensors
    result: weakref.ref[Any]
    result_storage: Any
    result_version: int
    shape: str
    bytes: int


def _weak_storage(tensor: Any) -> Any:
    return of_torch.storage_reference(tensor.untyped_storage())


def _watch(operation: str, source: Any, result: Any) -> None:
    same = result is source or not live_tensors.is_tensor(result) or not result.is_cuda
    if same or result.dtype != source.dtype or source.requires_grad and source.is_leaf:
        return
    if len(_state.watched) >= _MAX_WATCHED:
        return
    size = result.numel() * result.element_size()
    if size < _MIN_BYTES or owners.address_of(result) == owners.address_of(source):
        return
    frame = sys._getframe(3)
    if _copies_an_object(frame):
        return
    if not source.is_cuda and position.stage == recorder.INPUT:  # labels too: not only what the model is given
        recorder.tag(owners.address_of(result), recorder.INPUT_BLOCK, 0)
    _state.watched.append(
        _Copy(
            operation=operation,
            line=frames.script_line(frame),
            from_host=not source.is_cuda,
            source=weakref.ref(source),
            source_storage=_weak_storage(source),
            source_version=of_torch.writes.of(source),
            source_key=(source.untyped_storage().data_ptr(), of_torch.writes.of(source)),
            result=weakref.ref(result),
            result_storage=_weak_storage(result),
            result_version=of_torch.writes.of(result),
            shape=str(live_tensors.signature_of(result)),
            bytes=size,
        )
    )


def _copies_an_object(frame: FrameType | None) -> bool:
    """Within copy.deepcopy the line has no copy to drop: it wants a second object, as a target network is one."""
    while frame is not None and not frames.is_script(frame.f_code):
        if frame.f_code.co_name == "__deepcopy__":
            return True
        frame = frame.f_back
    return False


def _after(operation: str) -> Callable[[Any, Any, Any], None]:
    def after(_: Any, result: Any, source: Any) -> None:
        if not _is_busy():
            _watch(operation, source, result)

    return after


def _is_busy() -> bool:
    """Inside backward and optimizer steps copies are the libraries' own."""
    return position.stage in (recorder.BACKWARD, recorder.OPTIMIZER)


def _unchanged(tensor: Any, version: int) -> bool:
    """A tensor that only autograd holds on to can't be changed without an error."""
    return tensor is None or of_torch.writes.of(tensor) == version


def _lives(copy: _Copy) -> bool:
    return not of_torch.has_expired(copy.result_storage) and _unchanged(copy.result(), copy.result_version)


def _needless() -> dict[tuple[str, str], list[_Copy]]:
    found: dict[tuple[str, str], list[_Copy]] = {}
    first_of: dict[tuple[Any, ...], _Copy] = {}
    known = live_tensors.known_storages() if _state.watched else set()  # copies of weights are another matter
    for copy in _state.watched:
        if not _lives(copy) or (not copy.from_host and copy.source_key[0] in known):
            continue
        if copy.from_host:
            first = first_of.setdefault((copy.source_key, copy.shape), copy)
            if first is not copy and first.source() is copy.source() and copy.source() is not None:
                found.setdefault((copy.operation, copy.line), []).extend((copy,))
                copy.shape += f"|{first.line}"
        elif not of_torch.has_expired(copy.source_storage) and _unchanged(copy.source(), copy.source_version):
            found.setdefault((copy.operation, copy.line), []).append(copy)
    return found


def look(*_heard: Any) -> None:
    """Tells after a forward pass which of the copies made since the last look live beside what they were made of."""
    try:
        for key, copies in _needless().items():
            size = sum(copy.bytes for copy in copies)
            if size <= _state.noted.get(key, 0) or len(_state.noted) >= _MAX_NOTES:
                continue
            _state.noted[key] = size
            shape, _, first_line = copies[0].shape.partition("|")
            notes.note(
                said.NeedlessCopy(
                    operation=copies[0].operation,
                    line=copies[0].line,
                    first_line=first_line,
                    shape=shape,
                    bytes=size,
                    copies=len(copies),
                    from_host=copies[0].from_host,
                )
            )
    finally:
        _state.watched.clear()


def install(torch: Any) -> None:
    for name in ("clone", "contiguous", "to", "cuda"):
        patches.watch(torch, torch.Tensor, name, _after(name))
    patches.watch(torch, torch, "clone", _after("clone"))
    events.backward_begin.listen(look)
    events.step_counted.listen(look)
