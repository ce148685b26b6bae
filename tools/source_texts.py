"""Texts as sources hold them, in pieces or whole, for the checks that look for words in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

# Whatever is compiled or included is called so: tools/check_layers refuses an include of anything else.
SOURCES = {".h", ".hpp", ".hh", ".cc", ".cpp", ".cxx", ".c", ".inc"}
_RAW = re.compile(r'R"([^()\\\s]{0,16})\((.*?)\)\1"', re.DOTALL)
_TEXT = re.compile(r""""((?:[^"\\\n]|\\.)*)"|'\\?[^\n]'""")
_BETWEEN = re.compile(r'(?<!\\)"\s*"')


def is_for_tests(source: Path) -> bool:
    return source.stem.endswith("_test") or "testing" in source.parts or source.parts[:2] == ("virtual_gpu", "tool")


def text_of(node: ast.AST) -> str | None:
    """A text as far as it is written down, "x" for what is not; None: it is no text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "x" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = (text_of(node.left), text_of(node.right))
        return None if sides == (None, None) else "".join("x" if side is None else side for side in sides)
    return None


def texts_of_python(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Texts that are no docstrings, and of those that are put together the whole too."""
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) not in told and (text := text_of(node)) is not None:
            yield node, text


def texts_of_cpp(source: str) -> Iterator[tuple[str, str]]:
    """What stands before each text, and the text, those that follow each other as one."""
    without = source
    for raw in _RAW.finditer(source):
        yield source[: raw.start()][-40:], raw[2]
        without = without.replace(raw[0], "0")
    whole = _BETWEEN.sub("", without)
    for text in _TEXT.finditer(whole):
        if text[1] is not None:
            yield whole[: text.start()][-40:], text[1]
