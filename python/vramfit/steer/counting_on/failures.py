"""Errors of a script that was counted on: its own, or for what was left out before."""

from __future__ import annotations

import ast
from types import ModuleType, TracebackType

from vramfit.steer.counting_on import counting
from vramfit.steer.counting_on.scripts import source_of
from vramfit.steer.coverage import lines

_OWN = (ImportError, SyntaxError, NotImplementedError)  # whatever number a loop is at


def may_come_of_it(error: BaseException) -> bool:
    """Whether what was left out can have caused an error."""
    if not counting.has_moved or not isinstance(error, Exception) or isinstance(error, _OWN):
        return False
    if isinstance(error, AttributeError) and isinstance(getattr(error, "obj", None), ModuleType):
        return False
    if isinstance(error, NameError):
        return _is_bound_in_what_was_left_out(error)
    return True


def _is_bound_in_what_was_left_out(error: NameError) -> bool:
    """A name that nothing binds, or whose binding was executed, is missing in any round."""
    name, trace = getattr(error, "name", None), error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    source = source_of(trace.tb_frame.f_code) if trace is not None else None
    if name is None and isinstance(error, NameError):
        name = str(error).split("'")[1] if str(error).count("'") >= 2 else None
    if source is None or name is None:
        return False
    seen = lines.seen.executed.get(source.name, set())
    # The line of `if best is None: best = loss` does not tell whether what follows the test was run.
    unknown = {node.lineno for node in ast.walk(source.tree) if isinstance(node, ast.If) and _is_one_line(node)}
    bindings = [node.lineno for node in ast.walk(source.tree) if _binds(node, name)]  # type: ignore[attr-defined]
    return bool(seen) and any(line not in seen or line in unknown for line in bindings)


def _is_one_line(node: ast.If) -> bool:
    return node.body[0].lineno == node.test.end_lineno


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name and isinstance(node.ctx, ast.Store)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name == name
    if isinstance(node, (ast.Import, ast.ImportFrom)):  # of `ast.alias` the place is known from Python 3.10 on only
        return any((alias.asname or alias.name.split(".")[0]) == name for alias in node.names)
    return False


def describe(error: BaseException, trace: TracebackType | None) -> str:
    """`KeyError: 'lr' (train.py:12 in main)`"""
    from vramfit.base import frames

    place = ""
    while trace is not None:
        if frames.is_script(trace.tb_frame.f_code):
            code = trace.tb_frame.f_code
            place = f" ({frames.spelled(code.co_filename, trace.tb_lineno, code.co_name)})"
        trace = trace.tb_next
    return f"{type(error).__name__}: {str(error)[:200]}{place}"
