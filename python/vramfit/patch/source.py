"""A file of the user's own, changed without touching anything else of it.

Only what an edit covers is written again. A statement that is put under a `with` or an `if` is moved to the right line
by line, but for lines within strings.
"""

from __future__ import annotations

import ast
import difflib
import io
import itertools
import tokenize
from dataclasses import dataclass
from typing import Any

from vramfit.patch.source_tree import SourceTree, Unpatchable


@dataclass(frozen=True)
class _Edit:
    begin: tuple[int, int]  # line from 0, column in letters
    end: tuple[int, int]
    text: str


@dataclass(frozen=True)
class _Wrap:
    first: int  # lines from 0
    last: int
    header: str


class Source(SourceTree):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._edits: set[_Edit] = set()
        self._wraps: set[_Wrap] = set()
        self._inserted: dict[int, list[tuple[str, str]]] = {}  # by line: indentation and text, before that line
        self._appended: dict[int, list[tuple[str, str]]] = {}  # behind that line
        self._first: list[str] = []
        self._imports: list[str] = []
        self.helpers: dict[str, str] = {}

    # -- what is changed

    def replace(self, node: ast.AST, text: str) -> None:
        begin = self._position(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = self._position(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        self._edit(begin, end, text)

    def append(self, node: ast.AST, text: str) -> None:
        end = self._position(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        self._edit(end, end, text)

    def add_keyword(self, call: ast.Call, name: str, value: str) -> None:
        """Sets an argument of a call by its name: replaced where it stands there, or put behind the last one."""
        for keyword in call.keywords:
            if keyword.arg == name:
                self.replace(keyword.value, value)
                return
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if not given:
            end = self._position(call.end_lineno, call.end_col_offset)  # type: ignore[arg-type]
            self._edit((end[0], end[1] - 1), (end[0], end[1] - 1), f"{name}={value}")
            return
        last = max(given, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0))
        at = self._after_parentheses(last)
        self._edit(at, at, f", {name}={value}")

    def _after_parentheses(self, node: ast.expr) -> tuple[int, int]:
        """The position behind an argument, and behind parentheses around it, of which the tree tells nothing."""
        line, column = self._position(node.end_lineno, node.end_col_offset)  # type: ignore[arg-type]
        call = self._parents[node][0]
        while not isinstance(call, ast.Call):
            call = self._parents[call][0]
        begin, _ = self._position(call.func.end_lineno, call.func.end_col_offset), None  # type: ignore[arg-type]
        depth = 0
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            at = (token.start[0] - 1, token.start[1])
            if at < begin or at >= (line, column) or token.type != tokenize.OP:
                continue
            depth += token.string in "([{"
            depth -= token.string in ")]}"
        for _ in range(depth - 1):
            line, column = self._next_closing(line, column)
        return line, column

    def _next_closing(self, line: int, column: int) -> tuple[int, int]:
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            at = (token.start[0] - 1, token.start[1])
            if at >= (line, column) and token.type == tokenize.OP and token.string == ")":
                return token.end[0] - 1, token.end[1]
        raise Unpatchable(f"{self.name}:{line + 1} has no end")

    def insert_before(self, statement: ast.stmt, *texts: str) -> None:
        """Statements of one line each."""
        self._check_alone(statement, statement)
        first = self._first_line(statement)
        indentation = self._indentation(self.lines[first])
        known = self._inserted.setdefault(first, [])
        known.extend((indentation, text) for text in texts if (indentation, text) not in known)

    def insert_behind(self, statement: ast.stmt, text: str) -> None:
        self._check_alone(statement, statement)
        last = (statement.end_lineno or 1) - 1
        known = self._appended.setdefault(last, [])
        entry = (self._indentation(self.lines[self._first_line(statement)]), text)
        if entry not in known:
            known.append(entry)

    def add_import(self, line: str) -> None:
        if line not in self._imports and line not in self.text.splitlines():
            self._imports.append(line)

    def add_helper(self, name: str, text: str) -> None:
        """Definitions, behind the imports at the top of the file."""
        self.helpers[name] = text

    def put_first(self, *lines: str) -> None:
        """Puts lines before anything else but the file's own text and `__future__`."""
        self._first.extend(line for line in lines if line not in self._first)

    def wrap(self, first: ast.stmt, last: ast.stmt, header: str) -> None:
        """Puts these statements, neighbours in one block, under a header such as `with torch.no_grad():`."""
        self._check_alone(first, last)
        self._wraps.add(_Wrap(self._first_line(first), (last.end_lineno or 1) - 1, header))

    def decorate(self, function: ast.FunctionDef | ast.AsyncFunctionDef, decorator: str) -> None:
        self.insert_before(function, decorator)

    def is_changed(self) -> bool:
        return any(self.remember())

    def remember(self) -> tuple[Any, ...]:
        """What restore() goes back to, when a change turns out to be possible in part only."""
        return (
            set(self._edits),
            set(self._wraps),
            {line: list(texts) for line, texts in self._inserted.items()},
            {line: list(texts) for line, texts in self._appended.items()},
            list(self._first),
            list(self._imports),
            dict(self.helpers),
        )

    def restore(self, remembered: tuple[Any, ...]) -> None:
        self._edits, self._wraps, self._inserted, self._appended = remembered[:4]
        self._first, self._imports, self.helpers = remembered[4:]

    def _check_alone(self, first: ast.stmt, last: ast.stmt) -> None:
        """Whether these statements have their lines to themselves."""
        line, column = self._first_line(first), self._position(first.lineno, first.col_offset)[1]
        end_line, end_column = self._position(last.end_lineno or 1, last.end_col_offset or 0)
        behind = self.lines[end_line][end_column:].strip()
        if self.lines[first.lineno - 1][:column].strip(" \t@") or (behind and not behind.startswith("#")):
            raise Unpatchable(f"{self.name}:{line + 1} has several statements on one line")
        if line > 0 and self.lines[line - 1].rstrip("\r\n").endswith("\\"):
            raise Unpatchable(f"{self.name}:{line + 1} begins on the line before it")

    def _edit(self, begin: tuple[int, int], end: tuple[int, int], text: str) -> None:
        edit = _Edit(begin, end, text)
        for other in self._edits:
            overlap = other.begin < end and begin < other.end
            if other != edit and (overlap or (begin == other.begin and end == other.end and begin != end)):
                raise Unpatchable(f"{self.name}:{begin[0] + 1} would be changed in two ways")
        self._edits.add(edit)

    # -- the file as it becomes

    def patched(self) -> str:
        inside_strings = self._lines_in_strings()
        wraps = sorted(self._wraps, key=lambda wrap: (wrap.first, -wrap.last, wrap.header))
        shown: list[str] = []
        edited = self._edited_lines()
        for number in range(len(self.lines) + 1):
            around = [wrap for wrap in wraps if wrap.first < number <= wrap.last]
            deeper = self._unit * len(around)
            shown += [line + self.line_end if line else self.line_end for line in self._at_top(number)]
            for indentation, text in self._inserted.get(number, []):
                shown.append(indentation + deeper + text + self.line_end)
            if number == len(self.lines):
                break
            for wrap in wraps:
                if wrap.first == number:
                    shown.append(self._indentation(self.lines[number]) + deeper + wrap.header + self.line_end)
                    deeper += self._unit
            line = edited[number]
            keeps = number in inside_strings or not line.strip()
            shown.append(line if keeps else deeper + line)
            if number in self._appended and not line.endswith(("\n", "\r")):
                shown.append(self.line_end)
            for indentation, text in self._appended.get(number, []):
                shown.append(indentation + deeper + text + self.line_end)
        result = "".join(shown)
        ast.parse(result)  # a change of ours that is no Python would be ours to know
        return result

    def _at_top(self, number: int) -> list[str]:
        lines: list[str] = []
        if number == self._first_import():
            lines += [*self._first, ""] if self._first else []
        if number == self._behind_imports():
            lines += self._imports
            for text in self.helpers.values():
                lines += text.rstrip("\n").split("\n")
            if self.helpers:
                lines += [""] * (2 - self._blank_lines_at(number))
        return lines

    def _blank_lines_at(self, number: int) -> int:
        """Two at most; at the end of the file no more are wanted."""
        behind = self.lines[number : number + 2]
        return 2 if not behind else sum(1 for _ in itertools.takewhile(lambda line: not line.strip(), behind))

    def _edited_lines(self) -> list[str]:
        """Edits that cover several lines leave their text in the first, and nothing in the others."""
        lines = list(self.lines)
        for edit in sorted(self._edits, key=lambda one: (one.begin, one.end, one.text), reverse=True):
            (first, column), (last, end) = edit.begin, edit.end
            lines[first : last + 1] = [
                lines[first][:column] + edit.text + lines[last][end:],
                *[""] * (last - first),
            ]
        return lines

    def _lines_in_strings(self) -> set[int]:
        """Lines that begin within a string, which would change with their indentation."""
        found: set[int] = set()
        starts: list[int] = []
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            kind = tokenize.tok_name[token.type]
            if kind == "STRING":
                found.update(range(token.start[0], token.end[0]))
            elif kind == "FSTRING_START":
                starts.append(token.start[0])
            elif kind == "FSTRING_END":
                found.update(range(starts.pop(), token.end[0]))
        return found

    def diff(self, shown_as: str) -> str:
        """The change as `git diff` writes it and `patch -p1` reads it."""
        old, new = self.lines, self.patched().splitlines(keepends=True)
        parts = []
        for line in difflib.unified_diff(old, new, f"a/{shown_as}", f"b/{shown_as}"):
            parts.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
        return "".join(parts)
