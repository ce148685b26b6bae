"""What a cut run left out of its loops, in words: no cut is silent about what it can't have seen.

    for step in range(20_000):      # 0 to 699 in full, then 5,000 and 19,998: the rest is told
        ...

Once, when a process of the job ends, whatever way it ends.
"""

from __future__ import annotations

import ast
import atexit
from collections.abc import Iterable
from types import FrameType
from typing import Any

from vramfit.base import frames, notes, process
from vramfit.contract import notes as said
from vramfit.steer import counting_on
from vramfit.steer.counting_on.counters import scope_of
from vramfit.steer.counting_on.scripts import source_of

_MAX_LOOPS = 3


class _State:
    def __init__(self) -> None:
        self.is_noted = False


_state = process.own(_State)


@notes.guarded("left_out")
def tell(stack: Iterable[tuple[FrameType, int]] | None) -> None:
    """`stack`: where the script stands when it is ended early, innermost first; None when it came to its own end."""
    if _state.is_noted or not notes.was_cut():
        return
    _state.is_noted = True
    stack = list(stack or [])
    moved = counting_on.counting.tell({(frame.f_code.co_filename, line) for frame, line in stack})
    ended = _loops_around(stack, moved)
    if ended:
        notes.note(said.Open(text=f"{ended}: what later rounds ask for, and what piles up over them, was not seen"))
    elif not moved:
        cut = "past the first batches and steps, passes and loops were cut short"
        notes.note(said.Open(text=f"{cut}: what piles up over the rest, or depends on its number, was not seen"))


def _loops_around(stack: Iterable[tuple[FrameType, int]], moved: set[tuple[str, int]]) -> str:
    """The loops that a script was in, but for those that were counted on; outermost first."""
    found = []
    for frame, line in stack:
        if not frames.is_script(frame.f_code):
            continue
        source = source_of(frame.f_code)
        scope = scope_of(source, frame) if source is not None else None
        loops = [node for node in ast.walk(scope) if _holds(node, line)] if scope is not None else []
        file = frame.f_code.co_filename
        lines = [node.lineno for node in loops if (file, node.lineno) not in moved]  # type: ignore[attr-defined]
        found[:0] = [frames.spelled_line(file, number) for number in lines]
    if not found:
        return ""
    shown = ", ".join(found[:_MAX_LOOPS])
    return f"the loop at {shown} was ended early" if len(found) == 1 else f"the loops at {shown} were ended early"


def _holds(node: Any, line: int) -> bool:
    return isinstance(node, (ast.For, ast.While)) and bool(node.lineno <= line <= (node.end_lineno or 0))


def install() -> None:
    atexit.register(tell, None)
