"""Functions that are handed around and were never called: what calls them is a line that may have run long since.

ACTIONS = {4000: probe, 5000: lambda: evaluate(model)}
for step in range(6000):
    act = ACTIONS.get(step)
    if act: act()
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from vramfit.steer.coverage.source import Function, Gap, Source, arguments_of, is_silent, own_nodes

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def find(sources: Iterable[Source], entered: set[tuple[str, str, int]]) -> Iterator[tuple[Source, Gap, str]]:
    """Finds what was never entered, with when it would run, in words."""
    sources = list(sources)
    handed = set().union(*(_handed_around(source.tree) for source in sources)) if sources else set()
    for source in sources:
        for name, functions in source.functions.items():
            for function in functions if name in handed else ():
                if not _was_entered(source, function, entered):
                    body = [each for each in function.body if not is_silent(each)] or function.body
                    yield source, Gap(body, name, None, scope=function), f"when `{name}` is called"
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.Lambda) or node.lineno not in source.seen:
                continue
            if (source.name, "<lambda>", node.lineno) not in entered:
                whole = ast.copy_location(ast.Expr(node.body), node.body)
                yield source, Gap([whole], "<lambda>", None), "when this lambda is called"


def _was_entered(source: Source, function: Function, entered: set[tuple[str, str, int]]) -> bool:
    starts = {function.lineno, *(decorator.lineno for decorator in function.decorator_list)}
    if not starts & source.seen:
        return True  # it was never made
    return any((source.name, function.name, line) in entered for line in starts)


def _handed_around(tree: ast.AST) -> set[str]:
    """Names and attributes that are read other than to be called at once. A local variable is no function of that
    name."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found: set[str] = set()
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(tree, frozenset())]
    while waiting:
        scope, outer = waiting.pop()
        nodes = list(own_nodes(scope))
        is_function = scope is not tree
        local = outer | (bound_in(scope, nodes) if is_function else frozenset())
        for node in nodes:
            if isinstance(node, _SCOPES):
                waiting.append((node, local))
            if id(node) in called or not isinstance(getattr(node, "ctx", None), ast.Load):
                continue
            if isinstance(node, ast.Name) and node.id not in local:
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
    return found


def bound_in(scope: ast.AST, nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Parameters of a function and what is assigned in it."""
    assigned = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    shared = {name for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
    return frozenset((assigned - shared) | {argument.arg for argument in arguments_of(scope)})
