"""What a floating-point number that a line of the script reads from the card decides.

Most such numbers are printed. One in the test of a `while`, or of an `if` that leaves a loop or a function, decides
how long a loop runs: where values are not computed it reads 0, and the loop is not entered, or left at once. One in the
test of another `if` chooses a branch. What is worked out from it within the function counts too.
"""

from __future__ import annotations

import ast
import linecache
from types import CodeType, FrameType
from typing import Union

from vramfit.base import process
from vramfit.values.tracked import lines

_Function = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module]
LOOP, BRANCH, NOTHING = "a number that decides how long a loop runs", "a branch", ""


def decided_by(frame: FrameType | None) -> str:
    """LOOP, BRANCH or NOTHING, of the line that `frame` is at. Libraries' own lines are not looked at."""
    if frame is None:
        return NOTHING
    return _decided_in(frame.f_code, frame.f_lineno)


@process.cached()
def _decided_in(code: CodeType, line: int) -> str:
    return _decided_by(code.co_filename, line) if lines.is_users_file(code.co_filename) else NOTHING


@process.cached()
def _leaves_a_loop(file: str, line: int) -> bool:
    return _decided_by(file, line) == LOOP


def ends_a_loop_at(frame: FrameType) -> bool:
    """Whether the line that `frame` is at decides how long a loop runs; of libraries' lines too."""
    return _leaves_a_loop(frame.f_code.co_filename, frame.f_lineno)


def _decided_by(file: str, line: int) -> str:
    tree = _tree_of(file)
    if tree is None:
        return NOTHING
    function = _innermost(tree, line)
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
    tainted = _tainted(statements, line)
    found = NOTHING
    for node in statements:
        if isinstance(node, (ast.While, ast.If)) and (_covers(node.test, line) or _mentions(node.test, tainted)):
            if _ends_a_loop(node):
                return LOOP
            found = BRANCH
    return found


def _tainted(statements: list[ast.stmt], line: int) -> set[str]:
    """Names that get their values from that line, and from those names."""
    tainted: set[str] = set()
    for node in statements:
        if not isinstance(node, (ast.While, ast.If, ast.For, ast.With, ast.Try)) and _covers(node, line):
            tainted |= _targets(node)
    grows = bool(tainted)
    while grows:
        found = {name for node in statements if _mentions(_value_of(node), tainted) for name in _targets(node)}
        grows = not found <= tainted
        tainted |= found
    return tainted


@process.cached()
def _tree_of(file: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _covers(node: ast.AST, line: int) -> bool:
    return getattr(node, "lineno", 0) <= line <= (getattr(node, "end_lineno", None) or 0)


def _innermost(tree: ast.Module, line: int) -> _Function:
    found: _Function = tree
    for node in ast.walk(tree):  # outer ones come first
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _covers(node, line):
            found = node
    return found


def _ends_a_loop(node: ast.stmt) -> bool:
    if isinstance(node, ast.While):
        return True
    exits = (ast.Break, ast.Return, ast.Raise, ast.Continue)
    return isinstance(node, ast.If) and any(isinstance(each, exits) for each in (*node.body, *node.orelse))


def _targets(node: ast.stmt) -> set[str]:
    """What a statement gives a value to, as source: `best`, `self.loss`."""
    places: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        places = list(node.targets)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        places = [node.target]
    named = [each.target for each in ast.walk(node) if isinstance(each, ast.NamedExpr)] if _is_simple(node) else []
    flat = [part for place in places for part in (place.elts if isinstance(place, ast.Tuple) else [place])]
    return {ast.unparse(each) for each in (*flat, *named)}


def _is_simple(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr))


def _value_of(node: ast.stmt) -> ast.expr | None:
    return node.value if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) else None


def _mentions(node: ast.expr | None, tainted: set[str]) -> bool:
    if node is None or not tainted:
        return False
    parts = (each for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute, ast.Subscript)))
    return any(ast.unparse(each) in tainted for each in parts)
