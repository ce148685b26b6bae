"""At which later values of a counter a script does something it has not done yet, read off its tests.

    for step in range(100_000):                  # step is 120 now
        if step % 1000 == 999: evaluate()        # 999
        freeze(model, step >= 350)               # 350
        train(rows(64 if step < 750 else 256))   # 750

A test counts when it has come out the same for every value so far. Only numbers are computed with: of names that hold
some, and of attributes of plain objects. Nothing of the script's is called.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

_MAX_TRIES = 200_000  # values for which one test is computed
_MAX_ITEMS = 64
_PLAIN = (
    ast.Expression, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Constant, ast.Name, ast.Load, ast.And, ast.Or,
    ast.Not, ast.USub, ast.UAdd, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Lt, ast.LtE, ast.Gt,
    ast.GtE, ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Tuple, ast.List, ast.Set,
)  # fmt: skip
_COUNTER = "counter"
_SHARES = (0.25, 0.5, 0.75)
ROUNDS_EACH = 2  # with one value: the first may make the second larger, as what it unfreezes gets its gradients then


def spread(ahead: range) -> set[int]:
    """A few values of what is left of a count, the last of which leaves room for its rounds."""
    return {ahead[int(len(ahead) * share)] for share in _SHARES} | {ahead[-ROUNDS_EACH]}


Names = Mapping[str, Any]  # of a running function: its variables, and those of its module

# How a counter is written: by its name, or as an attribute ("self.step" -> "step" of anything).
IsCounter = Callable[[ast.expr], bool]


def find(tests: Iterable[ast.expr], names: Names, is_counter: IsCounter, so_far: range, ahead: range) -> list[int]:
    """The least value of `ahead` for which each test turns, in order, each once."""
    found = set()
    for test in tests:
        turn = _turn(test, names, is_counter, so_far, ahead)
        if turn is not None:
            found.add(turn)
    return sorted(found)


def tests_in(scope: ast.AST) -> Iterator[ast.expr]:
    """Whatever compares something, or decides as it is (`if step % 100:`), without parts of larger ones."""
    waiting = [scope]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Compare, ast.BoolOp)):
            yield node
            continue
        if isinstance(node, (ast.If, ast.IfExp, ast.While)) and isinstance(node.test, (ast.BinOp, ast.UnaryOp)):
            yield node.test
        waiting.extend(ast.iter_child_nodes(node))


def bounds_in(scope: ast.AST) -> Iterator[ast.expr]:
    """Those that end a loop: `while step < steps:`, `if step >= steps: break`."""
    for node in ast.walk(scope):
        if isinstance(node, ast.While) and not isinstance(node.test, ast.Constant):
            yield node.test
        if isinstance(node, ast.If) and isinstance(node.body[-1], (ast.Break, ast.Return)):
            yield node.test


def renamed(test: ast.expr, parameter: str, name: str) -> ast.expr:
    """A test within a function, in the words of who calls it."""

    class Renamer(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.parse(name, mode="eval").body if node.id == parameter else node

    return Renamer().visit(copy.deepcopy(test))  # type: ignore[no-any-return]


def _turn(test: ast.expr, names: Names, is_counter: IsCounter, so_far: range, ahead: range) -> int | None:
    parts = test.values if isinstance(test, ast.BoolOp) else []
    closed = _closed(test, names, is_counter)
    if closed is None:  # `if step % 100 == 0 and rank_is_main():` by what can be computed of it
        turns = (_turn(part, names, is_counter, so_far, ahead) for part in parts)
        return next((turn for turn in turns if turn is not None), None)
    try:
        now = closed(so_far[-1] if so_far else ahead[0])
        if any(closed(value) != now for value in so_far[-_MAX_TRIES:]):
            return None
        return next((value for value in ahead[:_MAX_TRIES] if closed(value) != now), None)
    except (ArithmeticError, TypeError, IndexError):
        return None


def _closed(test: ast.expr, names: Names, is_counter: IsCounter) -> Callable[[int], bool] | None:
    """The test as a function of the counter alone; None where it can't be made one, or does not read it."""
    rewriter = _Rewriter(names, is_counter)
    tree = rewriter.visit(ast.parse(ast.unparse(test), mode="eval"))
    if not rewriter.reads_counter or any(not isinstance(node, _PLAIN) for node in ast.walk(tree)):
        return None
    compiled = compile(ast.fix_missing_locations(tree), "<test>", "eval")
    return lambda value: bool(eval(compiled, {"__builtins__": {}}, {_COUNTER: value}))


class _Rewriter(ast.NodeTransformer):
    """Puts numbers in place of names and attributes, and one name in place of the counter."""

    def __init__(self, names: Names, is_counter: IsCounter) -> None:
        self._names = names
        self._is_counter = is_counter
        self.reads_counter = False

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            if self._is_counter(node):
                self.reads_counter = True
                return ast.Name(_COUNTER, ast.Load())
            return _as_constant(value_of(node, self._names)) or node
        return super().generic_visit(node)


def _as_constant(value: Any) -> ast.expr | None:
    if is_number(value):
        return ast.Constant(value)
    if type(value) in (list, tuple, set, frozenset) and len(value) <= _MAX_ITEMS and all(map(is_number, value)):
        return ast.Tuple([ast.Constant(item) for item in value], ast.Load())
    return None


def is_number(value: Any) -> bool:
    return type(value) in (int, float, bool)


def value_of(node: ast.expr, names: Names) -> Any:
    """What a name, an attribute of a plain object, or an item of a dict stands for; None when it is none of them."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        holder = value_of(node.value, names)
        own, shared = getattr(holder, "__dict__", None), getattr(type(holder), "__dict__", {})
        return own.get(node.attr, shared.get(node.attr)) if own is not None else None
    if isinstance(node, ast.Subscript):
        holder, key = value_of(node.value, names), value_of(node.slice, names)
        is_plain = isinstance(holder, dict) and isinstance(key, (str, int))
        return dict.get(holder, key) if is_plain else None
    return None
