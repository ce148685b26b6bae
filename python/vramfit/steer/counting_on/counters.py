"""What counts in the loops that a script is in, and how it is moved on.

for step in range(100_000):              # the range's own iterator is moved on, under tqdm too
for i, batch in enumerate(loader):       # the number that enumerate() gives next, or itertools.count()
for i, start in enumerate(range(0, n, 32)):   # both, by as many rounds; a list or a tuple likewise
"""

from __future__ import annotations

import ast
import contextlib
import copy
import itertools
import re
import weakref
from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Iterator
from types import CodeType, FrameType, GeneratorType
from typing import Any

from vramfit.base import frames
from vramfit.private.python_layout import number_in, put_number_in
from vramfit.steer.counting_on import stack
from vramfit.steer.counting_on.targets import Names
from vramfit.steer.coverage.source import Source

FAR = 1_000_000  # so far ahead a count that nothing bounds is looked at
RANGE = type(iter(range(0)))
_PLACED = (RANGE, type(iter([])), type(iter(())))  # iterators that know how much is left


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
        """Moves it to one of `ahead`: the next round has it."""


class _LoopCounter(Counter):
    iterator: Any

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
        self.iterator = iterator

    def move(self, value: int) -> bool:
        return move_range(self.iterator, value)


def left_of(iterator: Any) -> range:
    """The numbers that a range's iterator is still to give."""
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


class _EnumeratedCounter(_LoopCounter):
    """enumerate() over what stays as it is: its number and the place in what it goes through move together."""

    spread = True

    def __init__(self, source: Source, line: int, target: str, iterator: Any) -> None:
        inner, index = iterator.__reduce__()[1]
        super().__init__(source, line, target, range(index), range(index, index + inner.__length_hint__()))
        self.iterator = iterator

    def move(self, value: int) -> bool:
        inner, index = self.iterator.__reduce__()[1]
        if not can_number(self.iterator, index):
            return False
        if type(inner) is RANGE:
            is_moved = move_range(inner, left_of(inner)[value - index])
        else:
            is_moved = _move_sequence(inner, value - index)
        return is_moved and put_number(self.iterator, value)


def _move_sequence(iterator: Any, rounds: int) -> bool:
    """Lets the iterator of a list or a tuple leave out so many."""
    left = iterator.__length_hint__()
    iterator.__setstate__(iterator.__reduce__()[2] + rounds)
    return iterator.__length_hint__() == left - rounds  # type: ignore[no-any-return]


def can_number(iterator: Any, index: int) -> bool:
    """Whether it keeps its number where this release of Python is known to keep it."""
    return index >= 0 and number_in(iterator) == index


def put_number(iterator: Any, value: int) -> bool:
    put_number_in(iterator, value)
    return number_of(iterator) == value


class _NumberCounter(_LoopCounter):
    """The number that enumerate() or itertools.count() gives next."""

    def __init__(self, source: Source, line: int, target: str, iterator: Any, end: int | None) -> None:
        index = number_of(iterator)
        if end is None or end < index:  # it counts more than that pass: a loader begun again and again
            end = index + FAR
        super().__init__(source, line, target, range(index), range(index, end))
        self.iterator = iterator

    def move(self, value: int) -> bool:
        return can_number(self.iterator, self.ahead.start) and put_number(self.iterator, value)


def identity_of(iterator: Any) -> object:
    """The object kept of it, so that the same loop begun anew is known to have another.

    Not an enumerate() over a loader: it holds the last batch, and the loader's workers.
    """
    if type(iterator) is enumerate:
        with contextlib.suppress(TypeError):
            return weakref.ref(iterator.__reduce__()[1][0])
    return iterator


def number_of(iterator: Any) -> int:
    """The number that an enumerate() or an itertools.count() by one gives next."""
    if type(iterator) is itertools.count:  # can't be pickled from Python 3.14 on
        return int(repr(iterator)[len("count(") : -1])
    return int(iterator.__reduce__()[1][-1])


def names_of(frame: FrameType) -> Names:
    """The variables in sight, to be dropped by the caller: this holds what it names."""
    return ChainMap(frames.variables(frame), frame.f_globals)


def scope_of(source: Source, frame: FrameType) -> ast.AST | None:
    return scope_at(source, frame.f_code)


def scope_at(source: Source, code: CodeType) -> ast.AST | None:
    name, first = code.co_name, code.co_firstlineno
    if name == "<module>":
        return source.tree
    for scope in source.functions.get(name, []):
        if first in (scope.lineno, *(decorator.lineno for decorator in scope.decorator_list)):
            return scope
    return None


def of_loop(source: Source, header: ast.For, iterator: Any, count: int, length: int | None) -> Iterator[Counter]:
    for inner in within(iterator):
        if type(inner) is RANGE and isinstance(header.target, ast.Name):
            yield _RangeCounter(source, header.lineno, header.target.id, inner, count)
        is_pair = isinstance(header.target, ast.Tuple) and isinstance(header.target.elts[0], ast.Name)
        if type(inner) is enumerate and is_pair:
            target = header.target.elts[0].id  # type: ignore[attr-defined]
            if type(inner.__reduce__()[1][0]) in _PLACED:
                yield _EnumeratedCounter(source, header.lineno, target, inner)
            else:
                yield _NumberCounter(source, header.lineno, target, inner, length)
        if type(inner) is itertools.count and isinstance(header.target, ast.Name) and _counts_by_one(inner):
            yield _NumberCounter(source, header.lineno, header.target.id, inner, None)


def _counts_by_one(iterator: Any) -> bool:
    return re.fullmatch(r"count\(-?\d+\)", repr(iterator)) is not None


def within(iterator: Any) -> Iterator[Any]:
    """The iterator, or those that a generator (tqdm's) goes through in its place."""
    yield iterator
    if isinstance(iterator, GeneratorType) and iterator.gi_frame is not None:
        for inner in (*(loop.iterator for loop in stack.loops(iterator.gi_frame)), iterator.gi_yieldfrom):
            yield from within(inner)
