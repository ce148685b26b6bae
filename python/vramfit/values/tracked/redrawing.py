"""Loops that draw again until nothing is left to be drawn.

    while (outside := (x < low) | (x > high)).any():     # torch.nn.init.trunc_normal_ as of torch 2.12, for one
        x = torch.where(outside, torch.randn_like(x), x)

Values that were chosen do not change from round to round, so something would be left for ever. The second round takes
the memory that all later ones take: after some of them the answer is that nothing is left, at once where that line has
been seen to go on for so long before. Other loops that ask this with every step read "nothing" once in so many steps.
"""

from __future__ import annotations

import sys
from types import CodeType, FrameType

from vramfit.base import process
from vramfit.values import steering
from vramfit.values.tracked import lines

_ROUNDS = 8  # that a loop goes on for, before it is taken for one that draws again
_ROUNDS_AGAIN = 2

_Place = tuple[CodeType, int]


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.going_on: dict[_Place, tuple[int, int]] = {}  # the call (its frame) that asked last, and how often it has
        self.endless: set[_Place] = set()


_state = process.own(_State)


def is_over() -> bool:
    """Whether a question if any is left, answered by chosen values, is to be answered with no, seen from its line."""
    frame = _asking()
    if frame is None:
        return False
    place = (frame.f_code, frame.f_lasti)
    call, count = _state.going_on.get(place, (0, 0))
    count = count + 1 if call == id(frame) else 1
    _state.going_on[place] = (id(frame), count)
    if count <= (_ROUNDS_AGAIN if place in _state.endless else _ROUNDS) or not steering.ends_a_loop_at(frame):
        return False
    _state.endless.add(place)
    del _state.going_on[place]
    return True


def _asking() -> FrameType | None:
    """The innermost frame that isn't ours, nor of the machinery that an operator comes through."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (lines.is_ours(frame) or lines.is_dispatch(frame)):
        frame = frame.f_back
    return frame
