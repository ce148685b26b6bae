"""Where CPython keeps what it gives no interface to: 64 bit, with the GIL, releases 3.9 to 3.15.

Each is looked for in objects whose contents are known, not taken from the release; where one lies otherwise, it is told
as a name that is gone is. recorder/python_layout.h has what the recorder needs of a frame; HEAD and MARKS are in both
(tests/project/test_platforms.py).

    object      a count of references, then its type                                                  all
    frame       up to 3.10 its values lie in the frame object; from 3.11 on in memory of its own, which the object
                points to behind its head and f_back. Where the first local variable is differs with each release
    reference   on a frame's stack, from 3.14 on: the low bits say how it is counted, or that it is a number
    loop        from 3.15 on two values lie on the stack: its iterator, and above it nothing; or a list or tuple, of
                which no iterator is made, and above it the number of the next round
    enumerate, itertools.count    the number that comes next, behind the head                           all
    class       tp_name, tp_as_sequence; of the sequence's methods sq_item and sq_ass_item              all
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Callable
from types import FrameType, MappingProxyType
from typing import Any

from vramfit.private.names import Private

LIBRARY = "Python"
READY: tuple[str, ...] = ()

WORD = ctypes.sizeof(ctypes.c_void_p)
HEAD = 2 * WORD
MARKS = 7  # objects lie at multiples of eight
_IS_NUMBER = 3
_FRAME = HEAD + WORD
_NUMBER = HEAD
_SEARCHED_WORDS = 48
_TP_NAME, _TP_AS_SEQUENCE = 24, 104
_SLOTS = MappingProxyType({"sq_item": 24, "sq_ass_item": 40})


class Layout(Private):
    """Something that this interpreter keeps where it is looked for, or not."""

    def __init__(self, name: str, lost: str, is_as_known: Callable[[], bool]) -> None:
        super().__init__(f"sys:{name}", lost)
        self.name = name
        self._is_as_known = is_as_known

    def is_gone(self, finished: str = "") -> bool:
        try:
            return sys.implementation.name != "cpython" or not self._is_as_known()
        except Exception:
            return True


# -- memory


def word_at(address: int) -> int | None:
    """None where there is no such memory: a layout that is only guessed may point anywhere."""
    word = _read(address, WORD)
    return int.from_bytes(word, sys.byteorder) if word else None


def _read(address: int, count: int) -> bytes:
    try:
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(count) or b""
    except (OSError, OverflowError, ValueError):
        return b""


# -- frames


def memory_of(frame: FrameType) -> int:
    if sys.version_info < (3, 11):
        return id(frame)
    return int(ctypes.c_void_p.from_address(id(frame) + _FRAME).value or 0)


def object_at(address: int) -> Any:
    """What a place on a frame's stack refers to; None where that is nothing, or a number."""
    value = ctypes.c_size_t.from_address(address).value
    pointer = value & ~MARKS
    if not pointer or value & MARKS == _IS_NUMBER:
        return None
    return ctypes.cast(pointer, ctypes.py_object).value


def find_first_local() -> int | None:
    """Bytes from a frame's memory to its first local variable, found by looking for values that are known."""

    def known(one: object, two: object, three: object) -> int | None:
        wanted = [id(one), id(two), id(three)]
        memory = memory_of(sys._getframe())
        for word in range(_SEARCHED_WORDS):
            place = memory + word * WORD
            read = [ctypes.c_size_t.from_address(place + number * WORD).value & ~MARKS for number in range(3)]
            if read == wanted:
                return word * WORD
        return None

    return known(object(), object(), object())


def put_local(frame: FrameType, name: str, value: Any) -> None:
    frame.f_locals[name] = value
    if sys.version_info < (3, 13):  # f_locals is a copy, which is put back; it would keep alive what it names
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
        frame.f_locals.clear()


locals_put_back = Layout(
    "PyFrame_LocalsToFast",
    "local variables that a script counts with are not counted on",
    lambda: sys.version_info >= (3, 13) or hasattr(ctypes.pythonapi, "PyFrame_LocalsToFast"),
)

# -- enumerate() and itertools.count()


def number_in(iterator: Any) -> int:
    return ctypes.c_ssize_t.from_address(id(iterator) + _NUMBER).value


def put_number_in(iterator: Any, value: int) -> None:
    ctypes.c_ssize_t.from_address(id(iterator) + _NUMBER).value = value


def _has_numbers() -> bool:
    numbered: tuple[Any, ...] = (enumerate((), 12345), itertools.count(12345))
    return [number_in(each) for each in numbered] == [12345, 12345]


number = Layout(
    "the number of enumerate() and count()",
    "loops over them are not counted on, and rounds not numbered as their batch",
    _has_numbers,
)

# -- classes


class _Plain:
    pass


class _Indexed:
    def __getitem__(self, index: object) -> None: ...

    def __setitem__(self, index: object, value: object) -> None: ...


def _slots_filled(kind: type) -> list[bool]:
    methods = word_at(id(kind) + _TP_AS_SEQUENCE)
    return [bool(word_at(methods + offset)) for offset in _SLOTS.values()] if methods else []


def _has_slots() -> bool:
    """Seen on two classes."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    name = word_at(id(list) + _TP_NAME)
    if name is None or _read(name, 5) != b"list\0":
        return False
    return _slots_filled(_Indexed) == [True, True] and _slots_filled(_Plain) == [False, False]


def empty_sequence(kind: type) -> None:
    """A class is no sequence to C any more."""
    methods = ctypes.c_void_p.from_address(id(kind) + _TP_AS_SEQUENCE).value
    if methods:
        for offset in _SLOTS.values():
            ctypes.c_void_p.from_address(methods + offset).value = None


sequence = Layout("tp_as_sequence", "what x[mask] reads of values is not noticed", _has_slots)
