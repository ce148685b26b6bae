"""What counts in the loops that a script is in, and how it is moved on.

for step in range(100_000):              # the range's own iterator is moved on, under tqdm too
for i, batch in enumerate(loader):       # the number that enumerate() gives next
step += 1;  self.step += 1;  state["step"] = state["step"] + 1      # the variable
"""

from __future__ import annotations

import ast
import copy
import ctypes
import sys
from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Iterator
from types import FrameType, GeneratorType
from typing import Any

from vramfit.counting_on import stack
from vramfit.counting_on.targets import Names, is_number, value_of
from vramfit.coverage.source import Source
from vramfit.diagnose import frames

_FAR = 1_000_000  # so far ahead a count that nothing bounds is looked at
_INDEX = 2 * ctypes.sizeof(ctypes.c_void_p)  # of enumerate's next number in its object, behind the head
RANGE = type(iter(range(0)))


class Counter(ABC):
    """One of them. `so_far` and `ahead` are its values, as far as they are known."""

    name: str  # as the script writes it
    place: tuple[str, int, str]  # file, line, name: the same counter again in a later round
    spread = False  # whether values between now and its end are worth a look
    so_far: range
    ahead: range

    @abstractmethod
    def is_written_as(self, node: ast.expr) -> bool:
        """Whether an expression of the script stands for it."""

    def is_done(self) -> bool:
        """Its loop is in its last round."""
        return self.spread and not self.ahead

    @abstractmethod
    def move(self, value: int) -> bool:
        """To one of `ahead`: the next round has it."""


class _LoopCounter(Counter):
    def __init__(self, source: Source, line: int, target: str, so_far: range, ahead: range) -> None:
        self.name, self.place = target, (source.name, line, target)
        self.so_far, self.ahead = so_far, ahead

    def is_written_as(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.name


class _RangeCounter(_LoopCounter):
    spread = True

    def __init__(self, source: Source, line: int, target: str, iterator: Any, count: int) -> None:
        ahead = left_of(iterator)
        now = ahead.start - ahead.step
        first = now - count * ahead.step
        first = max(first, 0) if ahead.step > 0 else first
        super().__init__(source, line, target, range(first, now + 1, abs(ahead.step)), ahead)
        self._iterator = iterator

    def move(self, value: int) -> bool:
        return move_range(self._iterator, value)


def left_of(iterator: Any) -> range:
    """What a range's iterator is still to give."""
    _, (whole,), index = iterator.__reduce__()  # no index from Python 3.12 on: the range is what is left of it
    return whole[index or 0 :]  # type: ignore[no-any-return]


def move_range(iterator: Any, value: int) -> bool:
    """Lets a range's iterator give `value` next."""
    skipped = left_of(iterator).index(value)
    for state in (skipped, skipped + (iterator.__reduce__()[2] or 0)):  # up to Python 3.11 from the start
        tried = copy.copy(iterator)
        tried.__setstate__(state)
        if next(tried, None) == value:
            iterator.__setstate__(state)
            return True
    return False


class _EnumerateCounter(_LoopCounter):
    def __init__(self, source: Source, line: int, target: str, iterator: Any, end: int | None) -> None:
        index = iterator.__reduce__()[1][1]
        if end is None or end < index:  # it counts more than that pass: a loader begun again and again
            end = index + _FAR
        super().__init__(source, line, target, range(index), range(index, end))
        self._iterator = iterator

    def move(self, value: int) -> bool:
        place = ctypes.c_ssize_t.from_address(id(self._iterator) + _INDEX)
        if place.value != self.ahead.start or self.ahead.start < 0:
            return False  # not where this release of Python keeps it
        place.value = value
        return bool(self._iterator.__reduce__()[1][1] == value)


class _Variable(Counter):
    """A name, an attribute of a plain object, or an item of a dict."""

    def __init__(self, source: Source, node: ast.expr, frame: FrameType, names: Names, count: int, step: int) -> None:
        self.name = ast.unparse(node)
        self.place = (source.name, node.lineno, self.name)
        self._node, self._frame = node, frame
        now = value_of(node, names)
        self.so_far = range(max(step, now - count * step), now + 1, step)  # at 0 it had not counted yet
        self.ahead = range(now + step, now + step * _FAR, step)
        self._holder = None if isinstance(node, ast.Name) else value_of(node.value, names)  # type: ignore[attr-defined]
        self._key = value_of(node.slice, names) if isinstance(node, ast.Subscript) else None

    def is_written_as(self, node: ast.expr) -> bool:
        if isinstance(self._node, ast.Attribute):  # whatever the object is called there
            return isinstance(node, ast.Attribute) and node.attr == self._node.attr
        return type(node) is type(self._node) and ast.unparse(node) == self.name

    def move(self, value: int) -> bool:
        value -= self.so_far.step  # it is counted up before the next round's tests, in this round or in that one
        if isinstance(self._node, ast.Attribute):
            vars(self._holder)[self._node.attr] = value
        elif isinstance(self._node, ast.Subscript):
            dict.__setitem__(self._holder, self._key, value)  # type: ignore[arg-type]
        else:
            _set_name(self._frame, self.name, value)
        return True


def _set_name(frame: FrameType, name: str, value: int) -> None:
    if name in frame.f_code.co_varnames and sys.version_info < (3, 13):
        frame.f_locals[name] = value
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
        frame.f_locals.clear()  # it would keep alive what it names
    elif name in frame.f_code.co_varnames:
        frame.f_locals[name] = value
    else:
        frame.f_globals[name] = value


def names_of(frame: FrameType) -> Names:
    """To be dropped by the caller: it holds what it names."""
    return ChainMap(frames.variables(frame), frame.f_globals)


def find(source: Source, frame: FrameType, count: int, length: int | None) -> Iterator[Counter]:
    """Of one running function, innermost loops first. `count`: batches and steps so far; `length`: batches of the pass
    that the script is in."""
    scope = scope_of(source, frame)
    if scope is None:
        return
    headers = {node.lineno: node for node in ast.walk(scope) if isinstance(node, ast.For)}
    for loop in reversed(stack.loops(frame)):
        header = headers.get(loop.line)
        if header is not None:
            yield from _of_loop(source, header, loop.iterator, count, length)
    names = names_of(frame)
    for node, step in _counted(scope, frame.f_lineno):
        if type(value_of(node, names)) is int and _can_be_set(node, frame, names):
            yield _Variable(source, node, frame, names, count, step)


def scope_of(source: Source, frame: FrameType) -> ast.AST | None:
    name, first = frame.f_code.co_name, frame.f_code.co_firstlineno
    if name == "<module>":
        return source.tree
    for scope in source.functions.get(name, []):
        if first in (scope.lineno, *(decorator.lineno for decorator in scope.decorator_list)):
            return scope
    return None


def _of_loop(source: Source, header: ast.For, iterator: Any, count: int, length: int | None) -> Iterator[Counter]:
    for inner in _within(iterator):
        if type(inner) is RANGE and isinstance(header.target, ast.Name):
            yield _RangeCounter(source, header.lineno, header.target.id, inner, count)
        is_pair = isinstance(header.target, ast.Tuple) and isinstance(header.target.elts[0], ast.Name)
        if type(inner) is enumerate and is_pair:
            target = header.target.elts[0].id  # type: ignore[attr-defined]
            yield _EnumerateCounter(source, header.lineno, target, inner, length)


def _within(iterator: Any) -> Iterator[Any]:
    """The iterator, or those that a generator (tqdm's) goes through in its place."""
    yield iterator
    if isinstance(iterator, GeneratorType) and iterator.gi_frame is not None:
        for inner in (*(loop.iterator for loop in stack.loops(iterator.gi_frame)), iterator.gi_yieldfrom):
            yield from _within(inner)


def _counted(scope: ast.AST, line: int) -> Iterator[tuple[ast.expr, int]]:
    """`step += 1` and `step = step + 1`: of a name in a loop around `line`, of anything else anywhere."""
    loops = [node for node in ast.walk(scope) if isinstance(node, (ast.For, ast.While)) and _spans(node, line)]
    seen = set()
    for node in ast.walk(scope):
        found = _increment(node)
        if found is None or ast.unparse(found[0]) in seen:
            continue
        if not isinstance(found[0], ast.Name) or any(_spans(loop, found[0].lineno) for loop in loops):
            seen.add(ast.unparse(found[0]))
            yield found


def _spans(node: ast.AST, line: int) -> bool:
    return node.lineno <= line <= node.end_lineno  # type: ignore[attr-defined, no-any-return]


def _increment(node: ast.AST) -> tuple[ast.expr, int] | None:
    target, value = None, None
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        target, value = node.target, node.value
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add):
        is_same = ast.unparse(node.targets[0]) == ast.unparse(node.value.left)
        target, value = (node.targets[0], node.value.right) if is_same else (None, None)
    is_step = isinstance(value, ast.Constant) and type(value.value) is int and value.value > 0
    return (target, value.value) if target is not None and is_step else None  # type: ignore[union-attr, return-value]


def _can_be_set(node: ast.expr, frame: FrameType, names: Names) -> bool:
    if isinstance(node, ast.Name):
        return node.id in frame.f_code.co_varnames or node.id in frame.f_globals
    holder = value_of(node.value, names)  # type: ignore[attr-defined]
    if isinstance(node, ast.Attribute):
        return is_number(getattr(holder, "__dict__", {}).get(node.attr))
    return isinstance(holder, dict)
