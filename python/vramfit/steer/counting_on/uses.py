"""Where a script computes something with a counter besides testing it: what that asks for may differ in every round.

bs = int(np.interp(step, [0, 3000, 6000], [16, 2048, 16]))     # told
print(f"step {step}")                                          # no
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from vramfit.base import frames
from vramfit.steer.counting_on import targets, variables
from vramfit.steer.counting_on.counters import Counter
from vramfit.steer.counting_on.targets import IsCounter
from vramfit.steer.coverage.source import Source, passed_to

_SAYS = frozenset({
    "print", "log", "info", "debug", "warning", "write", "set_postfix", "set_description", "add_scalar", "set_epoch",
    "log_metrics", "format", "range",
})  # fmt: skip


def first_of(counter: Counter, source: Source, scope: ast.AST | None) -> str:
    """`train.py:13: bs = int(np.interp(step, ...))`; empty where it is only tested, counted and told."""
    if scope is None:
        return ""
    inside: list[tuple[ast.AST, IsCounter]] = [(scope, counter.is_written_as)]
    for passed in passed_to(source, scope, counter.is_written_as):
        inside.append((passed.function, _is_named(passed.parameter)))
    for where, is_counter in reversed(inside):  # what a function does with it rather than that it is called
        for statement in _statements(where):
            if any(is_counter(node) for node in _computed(statement, source) if isinstance(node, ast.expr)):
                code = ast.unparse(statement).split("\n")[0][:60]
                return frames.spelled_line(source.name, statement.lineno) + f": `{code}`"
    return ""


def _is_named(name: str) -> IsCounter:
    return lambda node: isinstance(node, ast.Name) and node.id == name


def _statements(scope: ast.AST) -> Iterator[ast.stmt]:
    for node in ast.walk(scope):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)):
            yield node


def _computed(statement: ast.stmt, source: Source) -> Iterator[ast.AST]:
    """What a statement reads, but for tests, texts, counting, and arguments of the script's own functions."""
    if variables.increment_of(statement) is not None:
        return
    tests = {id(test) for test in targets.tests_in(statement) if not isinstance(test, (ast.Subscript, ast.Call))}
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if id(node) in tests or isinstance(node, (ast.JoinedStr, ast.FormattedValue, ast.Dict, ast.Lambda)):
            continue
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in _SAYS or name in source.functions:
                continue
        if isinstance(getattr(node, "ctx", None), ast.Store):
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))
