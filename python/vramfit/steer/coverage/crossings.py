"""Conditional expressions of which a later step takes the other side: lines alone do not tell.

    for step in range(1500):
        train(rows(64 if step < 750 else 256))     # executed, and its second side was not: step is 120 now

Told where a loop that still runs counts up to what its counter is compared with.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import FrameType, MappingProxyType
from typing import Any

from vramfit.steer.coverage.source import Source

_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_ARITHMETIC = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
    }
)
_MAX_FRAMES = 200


@dataclass
class Crossing:
    """One such expression, in the statement that holds it."""

    source: Source
    function: str
    statement: ast.stmt
    expression: ast.IfExp
    counter: str
    limit: float


def find(sources: Iterable[Source], stack: list[tuple[FrameType, int]]) -> Iterator[Crossing]:
    by_name = {source.name: source for source in sources}
    for frame, line in stack[:_MAX_FRAMES]:
        source = by_name.get(frame.f_code.co_filename)
        if source is not None:
            yield from _in_scope(source, frame, line)


def _in_scope(source: Source, frame: FrameType, line: int) -> Iterator[Crossing]:
    name = frame.f_code.co_name
    first = frame.f_code.co_firstlineno
    scopes: list[Any] = [source.tree] if name == "<module>" else source.functions.get(name, [])
    for scope in scopes:
        if name != "<module>" and not scope.lineno - len(scope.decorator_list) <= first <= scope.lineno:
            continue
        for loop in ast.walk(scope):
            if isinstance(loop, ast.For) and loop.lineno <= line <= (loop.end_lineno or loop.lineno):
                yield from _in_loop(source, name, loop, frame)


def _in_loop(source: Source, name: str, loop: ast.For, frame: FrameType) -> Iterator[Crossing]:
    counters = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    for statement in loop.body:
        for node in ast.walk(statement):
            if not isinstance(node, ast.IfExp) or node.lineno not in source.seen:
                continue
            found = _compared(node.test, counters)
            if found is None:
                continue
            counter, limit = frame.f_locals.get(found[0]), _value(found[1], frame)
            if _is_number(counter) and _is_number(limit) and counter < limit < _end_of(loop, frame):
                yield Crossing(source, name, statement, node, found[0], limit)


def _compared(test: ast.expr, counters: set[str]) -> tuple[str, ast.expr] | None:
    """The counter and what it is compared with."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], _COMPARISONS):
        return None
    for one, other in ((test.left, test.comparators[0]), (test.comparators[0], test.left)):
        if isinstance(one, ast.Name) and one.id in counters:
            return one.id, other
    return None


def _end_of(loop: ast.For, frame: FrameType) -> float:
    """The number that a `range` stops before; without one there is no end."""
    call = loop.iter
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range" and call.args:
        end = _value(call.args[0] if len(call.args) == 1 else call.args[1], frame)
        if _is_number(end):
            return float(end)
    return float("inf")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _value(node: ast.expr, frame: FrameType) -> Any:
    """The value of numbers, names, plain objects' attributes, and arithmetic on them; no code of the script's runs."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, frame), "__dict__", {}).get(node.attr)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = _value(node.left, frame), _value(node.right, frame)
        try:
            return _ARITHMETIC[type(node.op)](left, right) if _is_number(left) and _is_number(right) else None
        except ArithmeticError:
            return None
    return None
