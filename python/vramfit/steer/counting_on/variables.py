"""Variables that a script counts with itself, and how they are moved on.

step += 1;  self.step += 1;  state["step"] = state["step"] + 1;  left -= 1      # by what the script says
seen += len(x);  tokens += x.numel()                                           # by what it was in the last rounds
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FrameType
from typing import NamedTuple

from vramfit.private.python_layout import put_local
from vramfit.steer.counting_on.counters import FAR, Counter
from vramfit.steer.counting_on.targets import Names, is_number, value_of
from vramfit.steer.coverage.source import Source

_OBSERVED = 3  # rounds after which it is known what a variable counts by


class Increment(NamedTuple):
    """Where a variable counts. `step`: what it counts by; None where that is not written as a number."""

    target: ast.expr
    step: int | None


class Variable(Counter):
    """A name, an attribute of a plain object, or an item of a dict."""

    def __init__(self, source: Source, node: ast.expr, frame: FrameType, names: Names, count: int, step: int) -> None:
        self.name = ast.unparse(node)
        self.place = (source.name, node.lineno, self.name)
        self._node, self._frame = node, frame
        now = value_of(node, names)
        first = now - count * step
        if step > 0 and now > 0:
            first = max(step, first)  # at 0 it had not counted yet
        self.so_far = range(first, now + (1 if step > 0 else -1), step)
        self.ahead = range(now + step, now + step * FAR, step)
        self._holder = None if isinstance(node, ast.Name) else value_of(node.value, names)  # type: ignore[attr-defined]
        self._key = value_of(node.slice, names) if isinstance(node, ast.Subscript) else None

    def is_written_as(self, node: ast.expr) -> bool:
        if isinstance(self._node, ast.Attribute):  # whatever the object is called there
            return isinstance(node, ast.Attribute) and node.attr == self._node.attr
        return type(node) is type(self._node) and ast.unparse(node) == self.name

    def move(self, value: int) -> bool:
        value -= self.so_far.step  # it is counted on before the next round's tests, in this round or in that one
        if isinstance(self._node, ast.Attribute):
            vars(self._holder)[self._node.attr] = value
        elif isinstance(self._node, ast.Subscript):
            dict.__setitem__(self._holder, self._key, value)  # type: ignore[arg-type]
        else:
            _set_name(self._frame, self.name, value)
        return True


def _set_name(frame: FrameType, name: str, value: int) -> None:
    if name in frame.f_code.co_varnames:
        put_local(frame, name, value)
    else:
        frame.f_globals[name] = value


class Observed:
    """What variables were in the last rounds: of `seen += len(x)` only that tells what it counts by."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, int, str], list[int]] = {}
        self._steps: dict[tuple[str, int, str], int] = {}  # once known: a move is no step

    def step_of(self, place: tuple[str, int, str], now: int) -> int | None:
        """None as long as it is not known, or was not the same in each round."""
        if place in self._steps:
            return self._steps[place]
        values = self._values.setdefault(place, [])
        if not values or values[-1] != now:
            values.append(now)
        del values[:-_OBSERVED]
        steps = {after - before for before, after in zip(values, values[1:])}
        if len(values) == _OBSERVED and len(steps) == 1:
            self._steps[place] = steps.pop()
        return self._steps.get(place)

    def waits(self) -> bool:
        """Whether another round may tell more."""
        return any(len(values) < _OBSERVED for values in self._values.values())


def find(
    source: Source, scope: ast.AST, frame: FrameType, names: Names, count: int, observed: Observed
) -> Iterator[tuple[Variable, ast.AST | None]]:
    """Those of one running function, with the innermost loop around their increment where that loop is running."""
    loops = [node for node in ast.walk(scope) if _is_loop(node) and _spans(node, frame.f_lineno)]
    seen = set()
    for node in ast.walk(scope):
        found = increment_of(node)
        if found is None or ast.unparse(found.target) in seen:
            continue
        around = [loop for loop in loops if _spans(loop, found.target.lineno)]
        if isinstance(found.target, ast.Name) and not around:
            continue
        now = value_of(found.target, names)
        if type(now) is not int or not _can_be_set(found.target, frame, names):
            continue
        seen.add(ast.unparse(found.target))
        step = found.step
        if step is None:
            step = observed.step_of((source.name, found.target.lineno, ast.unparse(found.target)), now)
        if step:
            innermost = max(around, key=lambda loop: loop.lineno, default=None)  # type: ignore[attr-defined]
            yield Variable(source, found.target, frame, names, count, step), innermost


def _is_loop(node: ast.AST) -> bool:
    return isinstance(node, (ast.For, ast.While))


def _spans(node: ast.AST, line: int) -> bool:
    return node.lineno <= line <= node.end_lineno  # type: ignore[attr-defined, no-any-return]


def increment_of(node: ast.AST) -> Increment | None:
    """`step += 1`, `step = step + 1`, `left -= 1`, `seen += len(x)`."""
    target: ast.expr
    if isinstance(node, ast.AugAssign):
        target, value = node.target, node.value
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        target, value = node.targets[0], node.value.right
        if ast.unparse(target) != ast.unparse(node.value.left):
            return None
    else:
        return None
    operator = node.op if isinstance(node, ast.AugAssign) else node.value.op  # type: ignore[attr-defined]
    if not isinstance(operator, (ast.Add, ast.Sub)):
        return None
    if not isinstance(value, ast.Constant):
        return Increment(target, None)
    if type(value.value) is not int or value.value <= 0:
        return None
    return Increment(target, value.value if isinstance(operator, ast.Add) else -value.value)


def _can_be_set(node: ast.expr, frame: FrameType, names: Names) -> bool:
    if isinstance(node, ast.Name):
        return node.id in frame.f_code.co_varnames or node.id in frame.f_globals
    holder = value_of(node.value, names)  # type: ignore[attr-defined]
    if isinstance(node, ast.Attribute):
        return is_number(getattr(holder, "__dict__", {}).get(node.attr)) and not isinstance(holder, type)
    return isinstance(holder, dict)
