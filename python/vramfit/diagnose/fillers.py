"""The lines of the script that put something into what holds tensors: `history.append(loss)`, `total = total + loss`.

Where a tensor was made the recording tells; who keeps it, its chain of references. Which line keeps it is read in the
source: a statement that adds to a variable or attribute of that name.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from vramfit.base import frames, process

_ADDERS = frozenset({
    "add", "append", "appendleft", "extend", "extendleft", "insert", "publish", "push", "put", "put_nowait",
    "register_buffer", "register_forward_hook", "register_hook", "setdefault", "update",
})  # fmt: skip
_ADDING_FUNCTIONS = frozenset({"heappush", "heappushpop", "insort", "setattr"})  # to their first argument
_MOST_LINES = 3
_MOST_FILES = 400
_MOST_BYTES = 1 << 20  # of a file
_KEYS = re.compile(r"\[[^\[\]]*\]")
_OWNERS = re.compile(r" (?:in closure|default) of .*")
_Statements = dict[str, list[str]]  # name -> places


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}  # by file
        self.found: dict[str, _Statements] = {}  # by file


_state = process.own(_State)


def find(holder: str) -> list[str]:
    """The places that fill a holder as it is written (`self.logged['loss'][3]`): `train.py:16 in Log.add`."""
    for name in _names_in(holder):
        places = dict.fromkeys(place for file in _script_files() for place in _statements_of(file, name).get(name, []))
        if places:
            return [*places][:_MOST_LINES]
    return []


def _names_in(holder: str) -> list[str]:
    """The names in a holder, without keys, the innermost first: of `metric.preds` the list, as `metric.update()` may be
    anything; of a closure what holds it."""
    text, before = holder, ""
    while text != before:
        text, before = _KEYS.sub("", text), text
    parts = [_OWNERS.sub("", part) for part in text.split(" -> ")]
    return [word for part in parts for word in reversed(re.findall(r"[^\W\d]\w*", part))]


def _script_files() -> list[str]:
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    running = [frame.f_code.co_filename for frame in frames.stacks()]
    own = dict.fromkeys(file for file in [*running, *files] if isinstance(file, str) and frames.is_script_file(file))
    return [file for file in own if file.endswith(".py")][:_MOST_FILES]


def _statements_of(file: str, name: str) -> _Statements:
    if file not in _state.texts:
        try:
            with open(file, encoding="utf-8", errors="replace") as source:
                _state.texts[file] = source.read(_MOST_BYTES)
        except OSError:
            _state.texts[file] = ""
    if name not in _state.texts[file]:
        return {}
    if file not in _state.found:
        found: _Statements = {}
        try:
            for statement in _additions(ast.parse(_state.texts[file]), ()):
                place = frames.spelled(file, statement.line, ".".join(statement.within) or "<module>")
                found.setdefault(statement.name, []).append(place)
        except (SyntaxError, ValueError, RecursionError):
            found = {}
        _state.found[file] = found
    return _state.found[file]


@dataclass(frozen=True)
class _Addition:
    name: str
    line: int
    within: tuple[str, ...]  # classes and functions


def _additions(node: ast.AST, within: tuple[str, ...]) -> Iterator[_Addition]:
    for name in _names_added_to(node):
        yield _Addition(name, getattr(node, "lineno", 0), within)
    inner = (*within, node.name) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else within
    for child in ast.iter_child_nodes(node):
        yield from _additions(child, inner)


def _names_added_to(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr in _ADDERS:
            yield from _last_name(called.value)
        function = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if function in _ADDING_FUNCTIONS and node.args:
            yield from _last_name(node.args[0])
    elif isinstance(node, ast.AugAssign):
        yield from _last_name(node.target)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Subscript) or _is_made_of_itself(target, node.value):
                yield from _last_name(target)


def _last_name(node: ast.expr) -> Iterator[str]:
    """`self.logged.setdefault(key, [])` -> "logged"."""
    while isinstance(node, (ast.Subscript, ast.Call)):
        called = node.func if isinstance(node, ast.Call) else node
        if not isinstance(called, (ast.Subscript, ast.Attribute)):
            return
        node = called.value
    if isinstance(node, (ast.Name, ast.Attribute)):
        yield node.id if isinstance(node, ast.Name) else node.attr


def _is_made_of_itself(target: ast.expr, value: ast.expr) -> bool:
    if not isinstance(target, (ast.Name, ast.Attribute)):
        return False
    written = ast.unparse(target)
    return any(isinstance(part, type(target)) and ast.unparse(part) == written for part in ast.walk(value))
