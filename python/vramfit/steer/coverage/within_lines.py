"""Branches that share a line with their test: that the line was executed says nothing of them.

    if step == 3000: evaluate(model)        # the test was run, and what is behind the colon was not
    loss = loss + penalty(x) if step % 16 == 0 else loss
    step % 1000 == 0 and evaluate(model)

A branch was run when a call in it was: Python 3.11 and later tell which instructions those are, by the columns of code.
Before, and where such code was followed for millions of instructions, it is not known, and told as such.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import NamedTuple, Union

_CALLS = ("CALL", "CALL_KW", "CALL_FUNCTION_EX")
WANTED, REACHED = 1, 2  # bytes of a mask, one for each code unit
GIVEN_UP = 255  # in place of the first: it was watched for so long that it was given up
_CODE_UNIT = 2
Scope = Union[ast.FunctionDef, ast.AsyncFunctionDef, None]


@dataclass(frozen=True)
class Branch:
    """What is run only when `test` comes out as `decided_for`, or when there is a round of a loop."""

    nodes: tuple[ast.stmt | ast.expr, ...]
    test: ast.expr
    decided_for: bool
    function: str
    scope: Scope
    is_loop: bool = False  # over what `test` gives

    def begin(self) -> tuple[int, int]:
        """Line and column."""
        return _begin(self.nodes[0])

    def when(self) -> str:
        return f"if {ast.unparse(self.test)} gives anything" if self.is_loop else when(self.test, self.decided_for)

    def statements(self) -> list[ast.stmt]:
        return [ast.copy_location(ast.Expr(node), node) if isinstance(node, ast.expr) else node for node in self.nodes]


def when(test: ast.expr, decided_for: bool) -> str:
    """When it runs, in the script's words."""
    text = " ".join(ast.unparse(test).split())
    return f"if {text}" if decided_for else f"unless {text}"


class Call(NamedTuple):
    """One that a code object makes, and what of its file it spans."""

    offset: int
    begin: tuple[int, int]  # line and column
    end: tuple[int, int]


class Watched(NamedTuple):
    """A code object with such branches, and which of their calls were made."""

    code: CodeType
    calls: list[Call]
    mask: bytearray


class Sorted(NamedTuple):
    """Branches of a file: `not_reached` without what lies within them."""

    reached: list[Branch]
    not_reached: list[Branch]
    unknown: list[Branch]


class Masks:
    """Those of all code that was begun."""

    def __init__(self) -> None:
        self._branches: dict[str, list[Branch]] = {}  # by file
        self._lines: dict[str, set[int]] = {}
        self._known: dict[str, list[Watched]] = {}
        self._by_code: dict[int, bytearray] = {}  # by the address of what is kept above

    def clear(self) -> None:
        for known in (self._branches, self._lines, self._known, self._by_code):
            known.clear()  # type: ignore[attr-defined]

    def mask_of(self, code: CodeType, lines: set[int]) -> bytearray | None:
        """The mask for whoever watches `code` to fill in; None where nothing is to be watched. `lines`: its own."""
        if not has_columns() or not lines & self._lines_of_file(code.co_filename):
            return None
        calls = [call for call in _calls_of(code) if any(_makes(b, call) for b in self._branches[code.co_filename])]
        if not calls:
            return None
        mask = bytearray(len(code.co_code) // _CODE_UNIT)
        for call in calls:
            mask[call.offset // _CODE_UNIT] = WANTED
        self._known.setdefault(code.co_filename, []).append(Watched(code, calls, mask))
        self._by_code[id(code)] = mask
        return mask

    def _lines_of_file(self, file: str) -> set[int]:
        if file not in self._branches:
            try:
                with open(file, "rb") as text:
                    self._branches[file] = list(find(ast.parse(text.read())))
            except (OSError, SyntaxError, ValueError):
                self._branches[file] = []
            nodes = [node for branch in self._branches[file] for node in branch.nodes]
            self._lines[file] = {line for node in nodes for line in range(_begin(node)[0], _end(node)[0] + 1)}
        return self._lines[file]

    def reach(self, code: CodeType, offset: int) -> None:
        mask = self._by_code.get(id(code))
        if mask is not None and mask[offset // _CODE_UNIT] == WANTED:
            mask[offset // _CODE_UNIT] = REACHED

    def reach_before(self, code: CodeType, offset: int) -> None:
        """What running code has behind it was not watched: it counts as made."""
        mask = self._by_code.get(id(code), bytearray())
        for at in range(min(offset // _CODE_UNIT + 1, len(mask))):
            mask[at] = REACHED if mask[at] == WANTED else mask[at]

    def sort(self, file: str, branches: Iterable[Branch]) -> Sorted:
        """Sorts the branches. Nothing is said of a function that was never begun."""
        found = Sorted([], [], [])
        for branch in branches:
            if not has_columns():
                if isinstance(branch.nodes[0], ast.stmt):
                    found.unknown.append(branch)
                continue
            states = self._states(file, branch)
            if REACHED in states:
                found.reached.append(branch)
            elif any(_spans(outer, branch.nodes[0]) for known in found.not_reached for outer in known.nodes):
                continue
            elif GIVEN_UP in states:
                found.unknown.append(branch)
            elif states:
                found.not_reached.append(branch)
        return found

    def _states(self, file: str, branch: Branch) -> set[int]:
        """The states of the branch's calls, wherever its code was begun."""
        states = set()
        for watched in self._known.get(file, []):
            own = {watched.mask[call.offset // _CODE_UNIT] for call in watched.calls if _makes(branch, call)}
            states |= {GIVEN_UP if state == WANTED and watched.mask[0] == GIVEN_UP else state for state in own}
        return states


def has_columns() -> bool:
    return sys.version_info >= (3, 11)


def find(tree: ast.Module) -> Iterator[Branch]:
    """All of a file, the outer before what they hold."""
    yield from _find_in(tree, "<module>", None)


def _find_in(node: ast.AST, function: str, scope: Scope) -> Iterator[Branch]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        function, scope = node.name, node
    for nodes, test, decided_for in _branches_of(node):
        if nodes and any(isinstance(part, ast.Call) for each in nodes for part in ast.walk(each)):
            yield Branch(nodes, test, decided_for, function, scope, isinstance(node, (ast.For, ast.AsyncFor)))
    for child in ast.iter_child_nodes(node):
        yield from _find_in(child, function, scope)


def _branches_of(node: ast.AST) -> Iterator[tuple[tuple[ast.stmt | ast.expr, ...], ast.expr, bool]]:
    if isinstance(node, (ast.If, ast.While)):
        yield _on_line_of(node.test, node.body), node.test, True
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield _on_line_of(node.iter, node.body), node.iter, True
    elif isinstance(node, ast.IfExp):
        yield (node.body,), node.test, True
        yield (node.orelse,), node.test, False
    elif isinstance(node, ast.BoolOp):
        before = node.values[0]
        for value in node.values[1:]:
            yield (value,), before, isinstance(node.op, ast.And)
            before = ast.copy_location(ast.BoolOp(node.op, [*_parts(before), value]), before)


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.values if isinstance(node, ast.BoolOp) else [node]


def _on_line_of(test: ast.expr, body: list[ast.stmt]) -> tuple[ast.stmt | ast.expr, ...]:
    return tuple(body) if body[0].lineno == test.end_lineno else ()


def _calls_of(code: CodeType) -> Iterator[Call]:
    for instruction in dis.get_instructions(code):
        positions = instruction.positions if instruction.opname in _CALLS else None  # type: ignore[attr-defined]
        known = [place for place in positions or () if place is not None]
        if len(known) == 4:
            line, end_line, column, end_column = known
            yield Call(instruction.offset, (line, column), (end_line, end_column))


def _makes(branch: Branch, call: Call) -> bool:
    return any(_begin(node) <= call.begin and call.end <= _end(node) for node in branch.nodes)


def _spans(outer: ast.AST, inner: ast.AST) -> bool:
    return _begin(outer) <= _begin(inner) and _end(inner) <= _end(outer)


def _begin(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined, no-any-return]


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined, no-any-return]
