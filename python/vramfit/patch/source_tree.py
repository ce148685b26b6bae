"""A file of the user's own as it is: its syntax tree, and the places in it that running code tells of."""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


class Unpatchable(Exception):
    """Why a change can't be put into the source, in words for the user."""


@dataclass(frozen=True)
class Span:
    """The span of running code, as Python tells it: lines from 1, columns in bytes of UTF-8 from 0."""

    line: int
    column: int
    end_line: int
    end_column: int


Block = tuple[ast.AST, str, int]  # the node, its field, and which of the statements there


class SourceTree:
    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, encoding="utf-8", newline="") as file:
            self.text = file.read()
        if self.text.startswith("\ufeff") or "\f" in self.text:
            raise Unpatchable(f"{self.name} begins with a byte order mark, or has form feeds")
        self.tree = ast.parse(self.text)
        self.lines = self.text.splitlines(keepends=True)
        if len(self.lines) != len(io.StringIO(self.text, newline=None).read().splitlines()):
            raise Unpatchable(f"{self.name} has several kinds of line ends")
        self.line_end = "\r\n" if self.lines and self.lines[0].endswith("\r\n") else "\n"
        self._parents: dict[ast.AST, tuple[ast.AST, str, int]] = {}
        self._find_parents()
        self._unit = self._find_unit()

    @property
    def name(self) -> str:
        return Path(self.path).name

    def _find_parents(self) -> None:
        for node in ast.walk(self.tree):
            for name, value in ast.iter_fields(node):
                for index, child in enumerate(value if isinstance(value, list) else [value]):
                    if isinstance(child, ast.AST):
                        self._parents[child] = (node, name, index)

    def _find_unit(self) -> str:
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.For, ast.If, ast.With, ast.ClassDef)):
                line = self.lines[node.body[0].lineno - 1]
                own = self._indentation(self.lines[node.lineno - 1])
                inner = self._indentation(line)
                if node.body[0].lineno > node.lineno and inner.startswith(own):
                    return inner[len(own) :]
        return "    "

    @staticmethod
    def _indentation(line: str) -> str:
        return line[: len(line) - len(line.lstrip(" \t"))]

    def place(self, node: ast.AST) -> str:
        return f"{self.name}:{getattr(node, 'lineno', 0)}"

    def call_at(self, span: Span) -> ast.Call:
        """A call is told by its end: its begin is that of the method's name where it is spread over lines."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and (node.end_lineno, node.end_col_offset) == (
                span.end_line,
                span.end_column,
            ):
                return node
        raise Unpatchable(f"no call ends where {self.name}:{span.line} ran one (a decorator, a lambda, a property)")

    def loop_at(self, span: Span) -> ast.For:
        """The `for` statement that drew from what stands there. Python 3.11 tells the whole statement."""
        for node in ast.walk(self.tree):
            whole = (
                isinstance(node, ast.For)
                and _holds(node, span)
                and (node.lineno, node.col_offset)
                == (
                    span.line,
                    span.column,
                )
            )
            if isinstance(node, ast.For) and (whole or _holds(node.iter, span)):
                return node
        raise Unpatchable(f"{self.name}:{span.line} draws batches without a `for` statement")

    def statement_of(self, node: ast.AST) -> ast.stmt:
        while not isinstance(node, ast.stmt):
            node = self._parents[node][0]
        return node

    def statement_at(self, span: Span) -> ast.stmt:
        """The innermost."""
        found: ast.stmt | None = None
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt) and _holds(node, span):
                found = node  # outer ones are walked first
        if found is None:
            raise Unpatchable(f"{self.name}:{span.line} is in no statement")
        return found

    def block_of(self, statement: ast.stmt) -> Block:
        return self._parents[statement]

    def blocks_around(self, statement: ast.stmt) -> Iterator[Block]:
        """The blocks from the innermost to the module, within its function."""
        node: ast.AST = statement
        while node in self._parents:
            parent = self._parents[node]
            if isinstance(node, ast.stmt):
                yield parent
            if isinstance(parent[0], (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                return
            node = parent[0]

    def function_around(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        while node in self._parents:
            node = self._parents[node][0]
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return node
        return None

    def is_called(self, node: ast.AST) -> bool:
        around = self._parents[node][0]
        return isinstance(around, ast.Call) and around.func is node

    def text_of(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.text, node) or ""

    def names(self) -> set[str]:
        return {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)} | {
            alias.asname or alias.name.split(".")[0]
            for node in ast.walk(self.tree)
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }

    def _first_line(self, statement: ast.stmt) -> int:
        decorators = getattr(statement, "decorator_list", [])
        return min([statement.lineno, *(decorator.lineno for decorator in decorators)]) - 1

    def _position(self, line: int, column: int) -> tuple[int, int]:
        return line - 1, len(self.lines[line - 1].encode()[:column].decode())

    def _first_import(self) -> int:
        for statement in self.tree.body:
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
            if not is_text and not is_future:
                return self._first_line(statement)
        return len(self.lines)

    def _behind_imports(self) -> int:
        line = self._first_import()
        for statement in self.tree.body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                line = statement.end_lineno or line
            elif isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.For, ast.With, ast.While)):
                break
        return line

    def defined(self) -> set[str]:
        """Names that the module has for itself."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return self.names() | {node.name for node in ast.walk(self.tree) if isinstance(node, kinds)}


def _holds(node: ast.AST, span: Span) -> bool:
    begin = (node.lineno, node.col_offset)  # type: ignore[attr-defined]
    end = (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
    return begin <= (span.line, span.column) and (span.end_line, span.end_column) <= end
