"""Keeps torch.Tensor what it is to C: a mapping, not a sequence.

A class that is given a `__getitem__` in Python becomes a sequence as well (`sq_item`), and PyTorch treats what it finds
in lists by that: `torch.tensor([loss, 5])` would ask the 0-d tensor `loss` for its length. So the two slots that came
with the replacement are emptied again, in the class and in those derived from it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from typing import Any

# Offsets in CPython's PyTypeObject and PySequenceMethods (Include/cpython/object.h), 64 bit, with the GIL.
_TP_NAME, _TP_AS_SEQUENCE = 24, 104
_SLOTS = {"sq_item": 24, "sq_ass_item": 40}


def is_possible() -> bool:
    """Whether this interpreter keeps the slots there: seen on two classes, not known by its release."""
    with_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or not with_gil:
        return False
    name = _word_at(id(list) + _TP_NAME)
    if name is None or _read(name, 5) != b"list\0":
        return False
    return _has_slots(_Indexed) == [True, True] and _has_slots(_Plain) == [False, False]


class _Plain:
    pass


class _Indexed:
    def __getitem__(self, index: object) -> None: ...

    def __setitem__(self, index: object, value: object) -> None: ...


def _has_slots(kind: type) -> list[bool]:
    methods = _word_at(id(kind) + _TP_AS_SEQUENCE)
    return [bool(_word_at(methods + offset)) for offset in _SLOTS.values()] if methods else []


def _word_at(address: int) -> int | None:
    word = _read(address, ctypes.sizeof(ctypes.c_size_t))
    return int.from_bytes(word, sys.byteorder) if word else None


def _read(address: int, count: int) -> bytes:
    """Empty where there is no such memory: a layout that is only guessed may point anywhere."""
    try:
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(count) or b""
    except (OSError, OverflowError, ValueError):
        return b""


def restore(tensor: Any) -> None:
    """After `__getitem__` and `__setitem__` of the class were replaced."""

    def made(kind: Any, **options: Any) -> None:
        super(tensor, kind).__init_subclass__(**options)
        _empty(kind, tensor)

    for kind in _with_derived(tensor):
        _empty(kind, tensor)
    tensor.__init_subclass__ = classmethod(made)


def forget(tensor: Any) -> None:
    """Before they are put back."""
    if "__init_subclass__" in vars(tensor):
        del tensor.__init_subclass__


def _with_derived(kind: type) -> Iterator[type]:
    yield kind
    for derived in type.__subclasses__(kind):
        yield from _with_derived(derived)


def _empty(kind: type, tensor: type) -> None:
    if next(base for base in kind.__mro__ if "__getitem__" in vars(base)) is not tensor:
        return  # one that indexes by itself is a sequence of its own right
    methods = ctypes.c_void_p.from_address(id(kind) + _TP_AS_SEQUENCE).value
    if methods:
        for offset in _SLOTS.values():
            ctypes.c_void_p.from_address(methods + offset).value = None
