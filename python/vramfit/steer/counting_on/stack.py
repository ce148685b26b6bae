"""The iterators of the `for` loops that a frame is in: CPython keeps them on the frame's stack of values only.

    for step in range(100_000):      # FOR_ITER leaves the range's iterator on the stack, at a depth that the code tells
        with autocast():             # ... and so does all that is open around it

How deep each lies follows from the code (`dis.stack_effect`); where a frame's values begin in memory differs between
releases of Python, and is found by looking for values that are known (private/python_layout.py). Whatever release that
does not work on has no iterators here: nothing is read from a place that was only guessed.
"""

from __future__ import annotations

import contextlib
import dis
import sys
from types import CodeType, FrameType
from typing import Any, NamedTuple

from vramfit.base import notes, process
from vramfit.private.python_layout import WORD, find_first_local, memory_of, object_at

_MAX_INSTRUCTIONS = 50_000
_ENDS = frozenset({  # what follows them is reached by a jump alone
    "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP", "JUMP_FORWARD", "JUMP_ABSOLUTE",
    "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT",
})  # fmt: skip


class Places(NamedTuple):
    """Where this release keeps what is looked for."""

    first_local: int  # bytes from a frame's memory to its first local variable
    from_top: int  # how far below the top of a loop's values its iterator lies: 2 from Python 3.15 on, else 1


class Loop(NamedTuple):
    """One `for` loop that a frame is in."""

    line: int  # of its header
    iterator: Any


def loops(frame: FrameType) -> list[Loop]:
    """The loops from the outermost to the innermost; empty where this release of Python is not known."""
    places = _places()
    return _read(frame, places) if places is not None else []


def look_for_layout() -> None:
    """Tells at the start where loops can't be found."""
    if _places() is None:
        notes.layout_unknown("the stack of a frame", "loops are not counted on, and rounds not numbered as their batch")


def _read(frame: FrameType, places: Places) -> list[Loop]:
    code = frame.f_code
    values = memory_of(frame) + places.first_local + WORD * _count_of_locals(code)
    found = []
    for offset, last, depth, line in _loops_of(code):
        if offset <= frame.f_lasti <= last:
            found.append((depth, Loop(line, object_at(values + WORD * (depth - places.from_top)))))
    return [loop for _, loop in sorted(found, key=lambda each: each[0])]


def _count_of_locals(code: CodeType) -> int:
    shared = [name for name in code.co_cellvars if sys.version_info < (3, 11) or name not in code.co_varnames]
    return len(code.co_varnames) + len(shared) + len(code.co_freevars)


@process.cached()
def _loops_of(code: CodeType) -> list[tuple[int, int, int, int]]:
    """Every `for` loop: where its FOR_ITER is, where its body ends, how many values lie on the stack there (its
    iterator among the last), its line. A loop in an exception's handler is none of them."""
    instructions = [each for each in dis.get_instructions(code) if each.opname != "CACHE"]
    if len(instructions) > _MAX_INSTRUCTIONS:
        return []
    depths = _depths(instructions)
    found, line = [], 0
    for each in instructions:
        line = _line_of(each) or line
        if each.opname == "FOR_ITER" and each.offset in depths:
            found.append((each.offset, each.argval - 2, depths[each.offset], line))
    return found


def _line_of(instruction: Any) -> int:
    if sys.version_info >= (3, 13):
        return int(instruction.line_number or 0)
    return int(instruction.starts_line or 0)


def _depths(instructions: list[Any]) -> dict[int, int]:
    """How many values lie on the stack before each instruction that is reached without an exception."""
    by_offset = {each.offset: number for number, each in enumerate(instructions)}
    depths: dict[int, int] = {}
    waiting = [(0, 0)]
    while waiting:
        number, depth = waiting.pop()
        while number < len(instructions):
            each = instructions[number]
            if each.offset in depths:
                break
            depths[each.offset] = depth
            argument = each.arg if each.opcode >= dis.HAVE_ARGUMENT else None
            if each.opcode in dis.hasjrel + dis.hasjabs and each.argval in by_offset and not _is_handler(each.opname):
                waiting.append((by_offset[each.argval], depth + dis.stack_effect(each.opcode, argument, jump=True)))
            if each.opname in _ENDS:
                break
            depth += _effect(instructions, number, argument)
            number += 1
    return depths


def _is_handler(name: str) -> bool:
    return name.startswith("SETUP_")  # their jumps are taken by exceptions


def _effect(instructions: list[Any], number: int, argument: int | None) -> int:
    each = instructions[number]
    if each.opname in ("RETURN_GENERATOR", "GEN_START"):  # what is sent to a generator first is popped at once
        following = instructions[number + 1].opname if number + 1 < len(instructions) else ""
        return 1 if following == "POP_TOP" else 0
    return dis.stack_effect(each.opcode, argument, jump=False)


@process.cached()
def _places() -> Places | None:
    """None where they can't be found, or where depths are wrong."""
    if sys.implementation.name != "cpython":
        return None
    try:
        first = find_first_local()
        tried = [Places(first, from_top) for from_top in (1, 2)] if first is not None else []
        return next((places for places in tried if _agrees(places)), None)
    except Exception:
        return None


def _agrees(places: Places) -> bool:
    """Tries them on a function with loops in every kind of block."""
    outer, middle, inner = (iter(range(2)) for _ in range(3))
    expected = [id(outer), id(middle), id(inner)]

    def nested() -> list[Loop]:
        cell = 0
        for _ in outer:
            with contextlib.nullcontext(), contextlib.nullcontext() as _:
                for _ in middle:
                    try:
                        for _ in inner:
                            return _read(sys._getframe(), places)
                    finally:
                        cell += 1
        return (lambda: [cell])()  # type: ignore[return-value]

    return [id(loop.iterator) for loop in nested()] == expected
