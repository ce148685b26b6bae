"""The files of a script, read once each."""

from __future__ import annotations

import ast
from types import CodeType

from vramfit.base import frames, process
from vramfit.steer.coverage.source import Source


def source_of(code: CodeType) -> Source | None:
    """None for what is not the user's own, or can't be read."""
    return _read(code.co_filename) if frames.is_script(code) else None


def source_of_file(file: str) -> Source | None:
    """`file` is the user's own. None where it can't be read."""
    return _read(file)


@process.cached()
def _read(file: str) -> Source | None:
    try:
        with open(file, "rb") as text:
            return Source(file, ast.parse(text.read()), set())
    except (OSError, SyntaxError, ValueError):
        return None
