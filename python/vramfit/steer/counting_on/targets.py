"""The later values of a counter at which a script does something it has not done yet, read off its tests.

for step in range(100_000):                  # step is 120 now
if step % 1000 == 999: evaluate()        # 999
freeze(model, step >= 350)               # 350
train(rows(64 if step < 750 else 256))   # 750

A test counts when it has come out the same for every value so far. Only numbers are computed with: of names that hold
some, of attributes of plain objects, and those that a loop over a few known ones goes through. Nothing of the script's
is called.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from vramfit.observe import loaders
from vramfit.steer.coverage.source import in_words_of

_MAX_TRIES = 200_000  # values for which one test is computed
_MAX_ITEMS = 64
_PLAIN = (
    ast.Expression, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Constant, ast.Name, ast.Load, ast.And, ast.Or,
    ast.Not, ast.USub, ast.UAdd, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Lt, ast.LtE, ast.Gt,
    ast.GtE, ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Tuple, ast.List, ast.Set, ast.Call,
)  # fmt: skip
_COUNTER = "counter"
_ARITHMETIC = MappingProxyType({"min": min, "max": max, "int": int, "abs": abs, "round": round, "float": float})
_KNOWN = frozenset({_COUNTER, *_ARITHMETIC})
_SHARES = (0.25, 0.5, 0.75)
ROUNDS_EACH = 2  # with one value: the first may make the second larger, as what it unfreezes gets its gradients then


def spread(ahead: range) -> set[int]:
    """A few values of what is left of a count, the last of which leaves room for its rounds."""
    return {ahead[int(len(ahead) * share)] for share in _SHARES} | {ahead[-ROUNDS_EACH]}


Names = Mapping[str, Any]  # of a running function: its variables, and those of its module

# How a counter is written: by its name, or as an attribute ("self.step" -> "step" of anything).
IsCounter = Callable[[ast.expr], bool]


class Found:
    """The results read off a counter's tests."""

    def __init__(self) -> None:
        self.turns: set[int] = set()
        self.unclear: list[ast.expr] = []  # tests that read the counter, and can't be computed


def find(tests: Iterable[ast.expr], names: Names, is_counter: IsCounter, so_far: range, ahead: range) -> Found:
    """The value of `ahead` that comes first, for which each test turns."""
    found = Found()
    for test in tests:
        try:
            turns = _turns(test, names, is_counter, so_far, ahead)
        except Exception:  # one that can't be computed is given up alone
            turns = None
        if turns is not None:
            found.turns |= turns
        elif _looked_up(test) is None and _reads(test, is_counter):
            found.unclear.append(test)
    return found


def _reads(test: ast.expr, is_counter: IsCounter) -> bool:
    return any(is_counter(node) for node in ast.walk(test) if isinstance(node, ast.expr))


def tests_in(scope: ast.AST) -> Iterator[ast.expr]:
    """Whatever compares something or decides as it is (`if step % 100:`), without parts of larger ones, and whatever
    looks something up."""
    waiting = [scope]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Compare, ast.BoolOp)):
            yield node
            continue
        if _looked_up(node) is not None:
            yield node  # type: ignore[misc]
        if isinstance(node, (ast.If, ast.IfExp, ast.While)) and isinstance(node.test, (ast.BinOp, ast.UnaryOp)):
            yield node.test
        waiting.extend(ast.iter_child_nodes(node))


def _looked_up(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """`ACTIONS[step]`, `ACTIONS.get(step)`: the container and the key."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Slice):
        return node.value, node.slice
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
        return (node.func.value, node.args[0]) if node.args else None
    return None


def spelled_out(scope: ast.AST, names: Names) -> dict[str, list[float]]:
    """The numbers that names stand for, one after another, in loops over a few known ones.

    `max(k for k in {0: 64, 5200: 4096} if k <= step)`, `for begin, length in phases: if step >= begin: ...`
    """
    found: dict[str, list[float]] = {}
    for node in ast.walk(scope):
        if not isinstance(node, (ast.For, ast.comprehension)):
            continue
        call = node.iter
        is_items = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "items"
        holder = value_of(call.func.value if is_items else call, names)  # type: ignore[attr-defined]
        items = list(holder.items()) if is_items and type(holder) is dict else holder
        if type(items) in (dict, list, tuple, set) and len(items) <= _MAX_ITEMS:
            for item in items:
                _add_bound(node.target, item, found)
    return found


def _add_bound(target: ast.expr, item: Any, found: dict[str, list[float]]) -> None:
    if isinstance(target, ast.Name) and is_number(item):
        found.setdefault(target.id, []).append(item)
    elif isinstance(target, ast.Tuple) and type(item) in (tuple, list):
        for part, value in zip(target.elts, item):
            _add_bound(part, value, found)


def each_of(test: ast.expr, bound: Mapping[str, list[float]]) -> list[ast.expr]:
    """A test once for each number that a name in it stands for."""
    name = next((n.id for n in ast.walk(test) if isinstance(n, ast.Name) and n.id in bound), None)
    if name is None or _looked_up(test) is not None:
        return [test]
    return [in_words_of(test, {name: ast.Constant(value)}) for value in bound[name]]


def bounds_in(scope: ast.AST) -> Iterator[ast.expr]:
    """Those that end a loop: `while step < steps:`, `if step >= steps: break`."""
    for node in ast.walk(scope):
        if isinstance(node, ast.While) and not isinstance(node.test, ast.Constant):
            yield node.test
        if isinstance(node, ast.If) and isinstance(node.body[-1], (ast.Break, ast.Return)):
            yield node.test


def _turns(test: ast.expr, names: Names, is_counter: IsCounter, so_far: range, ahead: range) -> set[int] | None:
    """None where it reads the counter and can't be computed."""
    looked_up = _looked_up(test)
    if looked_up is not None:
        return _turns_of_keys(*looked_up, names, is_counter, so_far, ahead)
    closed = _closed(test, names, is_counter)
    if closed is not None:
        now = closed.at(so_far[-1] if so_far else ahead[0])
        if closed.first(so_far[-_MAX_TRIES:], not now) is not None:
            return set()
        turn = closed.first(ahead[:_MAX_TRIES], not now)
        if turn is not None:
            return {turn}
    if not isinstance(test, ast.BoolOp):
        return None if closed is None else set()
    # `epoch >= 20 and i % 50 == 7`, `step % 100 == 0 and is_main()`: each part by itself, as far as it can be computed.
    turns = [_turns(part, names, is_counter, so_far, ahead) for part in test.values]
    known = [each for each in turns if each is not None]
    return set().union(*known) if known else None


def _turns_of_keys(
    holder: ast.expr, key: ast.expr, names: Names, is_counter: IsCounter, so_far: range, ahead: range
) -> set[int] | None:
    """Each key of a dict that the counter comes to: something else is kept under each."""
    known = value_of(holder, names)
    if type(known) is not dict:
        return set()
    keys = {each for each in known if type(each) is int}
    if is_counter(key):
        return {each for each in keys if each in ahead} if len(keys) <= _MAX_ITEMS else set()
    test = ast.Compare(key, [ast.In()], [ast.Tuple([ast.Constant(each) for each in keys], ast.Load())])
    return _turns(ast.fix_missing_locations(test), names, is_counter, so_far, ahead)


class _Closed:
    """A test of the counter and of numbers alone. The search is compiled too: a loop may have 200,000 rounds left."""

    def __init__(self, test: ast.expr) -> None:
        self._text = ast.unparse(test)
        self._first: dict[bool, Callable[[range], int | None]] = {}

    def at(self, value: int) -> bool:
        return self.first(range(value, value + 1), True) is not None

    def first(self, values: range, outcome: bool) -> int | None:
        """The first of `values` for which the test comes out as `outcome`."""
        if outcome not in self._first:
            text = f"({self._text})" if outcome else f"not ({self._text})"
            search = f"lambda values: next(({_COUNTER} for {_COUNTER} in values if {text}), None)"
            self._first[outcome] = eval(search, {"__builtins__": {}, "next": next, **_ARITHMETIC})
        return self._first[outcome](values)


def _closed(test: ast.expr, names: Names, is_counter: IsCounter) -> _Closed | None:
    """The test as a function of the counter alone; None where it can't be made one, or does not read it."""
    rewriter = _Rewriter(names, is_counter)
    tree = rewriter.visit(ast.parse(ast.unparse(test), mode="eval"))
    if not rewriter.reads_counter or any(not isinstance(node, _PLAIN) for node in ast.walk(tree)):
        return None
    if any(isinstance(node, ast.Name) and node.id not in _KNOWN for node in ast.walk(tree)):
        return None
    return _Closed(tree.body)


class _Rewriter(ast.NodeTransformer):
    """Puts numbers in place of names and attributes, and one name in place of the counter."""

    def __init__(self, names: Names, is_counter: IsCounter) -> None:
        self.__names = names
        self.__is_counter = is_counter
        self.reads_counter = False

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            if self.__is_counter(node):
                self.reads_counter = True
                return ast.Name(_COUNTER, ast.Load())
            return _as_constant(value_of(node, self.__names)) or node
        if isinstance(node, ast.Call):
            return self.__call(node)
        return super().generic_visit(node)

    def __call(self, node: ast.Call) -> ast.AST:
        """`min(step // 250, 8)` of numbers; `len(loader)` as the number that it is."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "len" and name not in self.__names and len(node.args) == 1:
            length = _length_of(value_of(node.args[0], self.__names))
            return node if length is None else ast.Constant(length)
        if name in _ARITHMETIC and name not in self.__names and not node.keywords:
            node.args = [self.visit(each) for each in node.args]
        return node


def _as_constant(value: Any) -> ast.expr | None:
    if is_number(value):
        return ast.Constant(value)
    if type(value) in (list, tuple, set, frozenset) and len(value) <= _MAX_ITEMS and all(map(is_number, value)):
        return ast.Tuple([ast.Constant(item) for item in value], ast.Load())
    return None


def _length_of(value: Any) -> int | None:
    """The length of what Python or torch counts by itself: no code of the script's is called."""
    if type(value) in (list, tuple, dict, set, str, range):
        return len(value)
    return loaders.length_of(value) if type(value).__module__.startswith("torch.utils.data") else None


def is_number(value: Any) -> bool:
    return type(value) in (int, float, bool)


def value_of(node: ast.expr, names: Names) -> Any:
    """The value of a name, an attribute of a plain object, or an item of a dict; None when it is none of them."""
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
