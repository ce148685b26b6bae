"""Whether what a script counts or carries over from batch to batch decides what it trains: under micro-batches it would
do so for each part of a batch.

    for x, y in loader:
        it += 1                                  # it: carried over, a round of the loop leaves it for the next
        beta = min(1.0, it / 1000)               # beta: from it
        loss = recon(x, y) + beta * kl           # loss: from beta
        loss.backward()                          # trains, as was seen; so `it` decides what is trained
        if it % 100 == 0: print(it, loss)        # nothing that trains

Where a script trains (calls its model, runs backward, steps) is seen, not read: the lines of its loop at which that
happened. From there the values that these lines and the tests around them need are followed back through the loop.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

from vramfit.apply import loop_flow
from vramfit.apply.batch_numbers import BatchNumbers
from vramfit.apply.split_sampler import Share
from vramfit.base import frames
from vramfit.steer.counting_on import counters, targets
from vramfit.steer.counting_on.scripts import source_of

_MAX_FRAMES = 60


class OwnCounters:
    """The script's own counters in the loop over a loader whose batches are given in parts."""

    def __init__(
        self, refuse: Callable[[str], None], is_model: Callable[[Any], bool], are_counted: Callable[[Any], bool]
    ) -> None:
        self._refuse = refuse
        self._is_model = is_model
        self._are_counted = are_counted  # whether this object's sync_gradients is True once a batch
        self._loop: tuple[CodeType, int] | None = None  # the function that it is in, and its header's line
        self._trained_at: dict[CodeType, set[int]] = {}
        self._judged: set[tuple[CodeType, int]] = set()
        self._ended_by_number: set[tuple[CodeType, int]] = set()
        self._numbers = BatchNumbers()

    def begin(self, frame: FrameType | None) -> None:
        """A batch is drawn, for the first time in a pass."""
        place = next(frames.script_frames(frame, _MAX_FRAMES), None)
        self._loop = (place.f_code, place.f_lineno) if place is not None else None
        self._trained_at = {}
        self._numbers.begin()

    @property
    def is_numbered(self) -> bool:
        """Whether the loop has a number, which is the batch's for each of its parts."""
        return self._numbers.is_known

    def number(self, frame: FrameType | None, share: Share) -> None:
        """A part of a batch is drawn: the loop's number is to be that of the batch."""
        place = next(frames.script_frames(frame, _MAX_FRAMES), None)
        if place is not None:
            self._numbers.number(place, share, self._loop in self._ended_by_number)

    def trains(self, frame: FrameType | None) -> None:
        """The script calls a model that is trained, runs a backward pass, or asks for a step."""
        if self._loop is None or self._loop in self._judged:
            return
        places = list(frames.script_frames(frame, _MAX_FRAMES))
        if any(place.f_code is self._loop[0] for place in places):
            for place in places:
                self._trained_at.setdefault(place.f_code, set()).add(place.f_lineno)
                if place.f_code is self._loop[0]:
                    break

    def judge(self, frame: FrameType | None) -> None:
        """Called at the first step that is asked for, before any is taken."""
        if self._loop is None or self._loop in self._judged:
            return
        place = next((each for each in frames.script_frames(frame, _MAX_FRAMES) if each.f_code is self._loop[0]), None)
        source = source_of(self._loop[0])
        if place is None:
            return
        self._judged.add(self._loop)  # also where nothing can be read: what it does is not looked at any more
        if source is None:
            return
        scope = counters.scope_of(source, place)
        header = _header_of(scope, self._loop[1])
        if scope is None or header is None:
            return
        flow = loop_flow.Flow(header, source, self._names_of(place, scope, header), self._trained_at)
        lines = self._trained_at.get(place.f_code, set())
        if flow.does_number_end(lines):
            self._ended_by_number.add(self._loop)
        if carried := flow.find_carried(lines, self._numbers.is_known):
            place_of_it = frames.spelled_line(source.name, carried[1])
            self._refuse(
                f"`{carried[0]}`, which the script carries over from batch to batch, decides what is trained "
                f"({place_of_it}): it would count, or be changed by, each part of a batch"
            )
        elif late := flow.find_late(lines):
            self._refuse(
                f"from some `{late[0]}` on the script does something with a model after each batch "
                f"({frames.spelled_line(source.name, late[1])}), and would after each part of one"
            )

    def _names_of(self, place: FrameType, scope: ast.AST, header: ast.For) -> loop_flow.Names:
        known = dict(counters.names_of(place))
        known |= {f"self.{name}": value for name, value in list(getattr(known.get("self"), "__dict__", {}).items())}
        varied = {name for loop in _loops_around(scope, header) for name in loop_flow.names_in(loop.target)}
        written = {name for node in ast.walk(header) for name in _stored(node)} | varied
        return loop_flow.Names(
            models={name for name, value in known.items() if self._is_model(value)},
            schedulers={name for name, value in known.items() if hasattr(value, "get_last_lr")},
            containers={name for name, value in known.items() if isinstance(value, (list, dict, set, deque))},
            outer=varied,
            once={f"{name}.sync_gradients" for name, value in known.items() if self._are_counted(value)},
            decide=_Settings(written, known).decide,
        )


class _Settings:
    """The outcome of tests whose names no round changes: `args.dry_run`, `not use_amp`."""

    def __init__(self, written: set[str], known: dict[str, Any]) -> None:
        self._written, self._known = written, known

    def decide(self, test: ast.expr) -> bool | None:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.decide(test.operand)
            return None if inner is None else not inner
        parts = {ast.unparse(node) for node in ast.walk(test) if isinstance(node, ast.expr)}
        if not isinstance(test, (ast.Name, ast.Attribute)) or parts & self._written:
            return None
        value = targets.value_of(test, self._known)
        return bool(value) if isinstance(value, (bool, int, float, str)) else None


def _stored(node: ast.AST) -> Iterator[str]:
    if isinstance(getattr(node, "ctx", None), ast.Store):
        yield ast.unparse(node)


def _loops_around(scope: ast.AST, header: ast.For) -> Iterator[ast.For]:
    for node in ast.walk(scope):
        if isinstance(node, ast.For) and node is not header and any(inner is header for inner in ast.walk(node)):
            yield node


def _header_of(scope: ast.AST | None, line: int) -> ast.For | None:
    if scope is None:
        return None
    loops = [node for node in ast.walk(scope) if isinstance(node, ast.For)]
    return next((loop for loop in loops if loop.lineno <= line < loop.body[0].lineno), None)
