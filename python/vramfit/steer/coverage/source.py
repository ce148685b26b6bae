"""The user's files as syntax trees: functions, what varies while they run, and which statements were not executed."""

from __future__ import annotations

import ast
import copy
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Union

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
_MUTATORS = frozenset(
    {"append", "extend", "add", "push", "put", "update", "pop", "appendleft", "popleft", "insert", "enqueue"}
)
_CHANCE = frozenset(
    {"random", "rand", "randint", "randrange", "uniform", "choice", "time", "perf_counter", "monotonic"}
)
# What trainers, schedulers and optimizers count and change in their own files: attributes and methods.
_COUNTED = frozenset({"global_step", "current_epoch", "last_epoch", "get_last_lr", "param_groups"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.While, ast.AsyncFor)
_JUMPS = (ast.Return, ast.Continue, ast.Break, ast.Raise)


@dataclass
class Gap:
    """Statements in a row that were never executed."""

    statements: list[ast.stmt]
    function: str
    test: ast.expr | None  # that was executed and decided against them; None: nothing was asked
    decided_for: bool = True  # whether they run when `test` is true
    scope: ast.AST | None = None  # the function they are in; None: the module


@dataclass
class Source:
    """One file."""

    name: str
    tree: ast.Module
    seen: set[int]
    functions: dict[str, list[Function]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions.setdefault(node.name, []).append(node)

    def was_run(self, statement: ast.stmt) -> bool:
        return any(line in self.seen for line in _header_lines(statement))

    def gaps(self) -> Iterator[Gap]:
        yield from self._gaps_in(self.tree.body, "<module>", None, None, True)
        for functions in self.functions.values():
            for function in functions:
                if any(self.was_run(statement) for statement in function.body):
                    yield from self._gaps_in(function.body, function.name, function, None, True)

    def _gaps_in(
        self, suite: list[ast.stmt], name: str, scope: ast.AST | None, test: ast.expr | None, when: bool
    ) -> Iterator[Gap]:
        """The gaps of one suite and those below it; functions within are gone through by themselves."""
        run: list[ast.stmt] = []
        for statement in suite:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) or is_silent(statement):
                continue
            if not self.was_run(statement):
                run.append(statement)
                continue
            if run:
                yield Gap(run, name, test, when, scope)
                run = []
            yield from self._below(statement, name, scope)
            left = _early_exit(statement)
            if left is not None:  # what follows runs only when it is not taken
                test, when = left, False
        if run:
            yield Gap(run, name, test, when, scope)

    def _below(self, statement: ast.stmt, name: str, scope: ast.AST | None) -> Iterator[Gap]:
        if isinstance(statement, ast.If):
            yield from self._gaps_in(statement.body, name, scope, statement.test, True)
            yield from self._gaps_in(statement.orelse, name, scope, statement.test, False)
        elif isinstance(statement, ast.ClassDef):
            yield from self._gaps_in(statement.body, name, scope, None, True)
        elif isinstance(statement, ast.Try):  # a handler is for what went wrong
            for suite in (statement.body, statement.orelse, statement.finalbody):
                yield from self._gaps_in(suite, name, scope, None, True)
        else:
            for suite in (getattr(statement, "body", []), getattr(statement, "orelse", [])):
                yield from self._gaps_in(suite, name, scope, None, True)


def _header_lines(statement: ast.stmt) -> range:
    """The lines of a statement without its suites: Python reports some of them, not always the first."""
    first = min([statement.lineno] + [d.lineno for d in getattr(statement, "decorator_list", [])])
    body = getattr(statement, "body", None)
    if isinstance(statement, ast.Try) and body:
        return _header_lines(body[0])  # `try:` alone is no code in some releases
    last = body[0].lineno - 1 if isinstance(body, list) and body else (statement.end_lineno or statement.lineno)
    return range(first, max(first, last) + 1)


def is_silent(statement: ast.stmt) -> bool:
    """No code comes of it, or none that a line event tells of."""
    if isinstance(statement, (ast.Global, ast.Nonlocal, ast.Pass)):
        return True
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _early_exit(statement: ast.stmt) -> ast.expr | None:
    """The test of an `if` that leaves the suite: `if step < warmup: continue`."""
    if isinstance(statement, ast.If) and statement.body and isinstance(statement.body[-1], _JUMPS):
        return statement.test
    return None


class Once:
    """What runs once in a script: its module, and functions that are named once, by a call outside of loops in such."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._repeated: dict[ast.AST, set[int]] = {}  # by scope
        self._calls: dict[str, tuple[ast.AST | None, ast.AST]] = {}  # of a name outside of loops: scope and module
        self._named: Tally[str] = Tally()
        for source in sources:
            self._named.update(_name_of(node) for node in ast.walk(source.tree) if _is_use(node))
            for scope in (source.tree, *(f for functions in source.functions.values() for f in functions)):
                self._note_calls(scope, source.tree)

    def _note_calls(self, scope: ast.AST, tree: ast.AST) -> None:
        repeated = self._repeated[scope] = _repeated(scope)
        for node in own_nodes(scope):
            if isinstance(node, ast.Call) and id(node) not in repeated:
                self._calls[called_name(node)] = (None if scope is tree else scope, tree)

    def holds(self, node: ast.AST, scope: ast.AST | None, tree: ast.AST, depth: int = 4) -> bool:
        """Whether `node` runs at most once."""
        if id(node) in self._repeated[tree if scope is None else scope]:
            return False
        if scope is None:
            return True
        name = getattr(scope, "name", "")
        if depth == 0 or self._named[name] != 1 or name not in self._calls or getattr(scope, "decorator_list", []):
            return False
        outer, module = self._calls[name]
        return outer is None or (outer is not scope and self.holds(outer.body[0], outer, module, depth - 1))  # type: ignore[attr-defined]


def _is_use(node: ast.AST) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)


def _name_of(node: ast.AST) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))


def _repeated(scope: ast.AST) -> set[int]:
    """What is written in a loop of `scope`, or in a function, a lambda or a comprehension that it only makes."""
    makers = (*_LOOPS, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, *_FUNCTIONS)
    found: set[int] = set()
    for around in ast.walk(scope):
        if around is not scope and isinstance(around, makers) and id(around) not in found:
            found.update(id(inner) for inner in ast.walk(around))
    return found


def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def attributes_in(node: ast.AST) -> set[str]:
    return {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function or module, without the functions within."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))


@dataclass(frozen=True)
class _Flow:
    """A value that goes from a scope to names, of itself or of a function that it calls."""

    names: set[str]  # that the value is worked out from
    attributes: set[str]
    into: ast.AST  # whose names the targets are
    targets: set[str]


class Varying:
    """Names that change while a job goes on: what a test on them says now, it need not say later.

    Loop variables, what is assigned in a loop, attributes changed outside of __init__, lists that are filled, and the
    parameters that such a value is passed to. By name, over all files: told apart they are not.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = list(sources)
        self.attributes: set[str] = set(_COUNTED)
        self._locals: dict[ast.AST, set[str]] = {}
        self._assigned: dict[
            ast.AST, set[str]
        ] = {}  # in a loop of the scope itself: None at first, and something later
        scopes: list[ast.AST] = []
        for source in self._sources:
            scopes.append(source.tree)
            scopes.extend(f for functions in source.functions.values() for f in functions)
        for scope in scopes:
            self._locals[scope] = self._assigned_in_loops(scope)
            self._assigned[scope] = set(self._locals[scope])
            if getattr(scope, "name", "") != "__init__":
                self.attributes |= _changed_attributes(scope)
        flows = [(scope, list(self._flow_of(scope))) for scope in scopes]
        for _ in range(4):  # values passed on, and passed on again
            if not any([self._spread(scope, flow) for scope, flow in flows]):
                break

    def is_varying(self, test: ast.expr, scope: ast.AST | None, tree: ast.AST) -> bool:
        """Whether what decided may decide otherwise in a later step."""
        if _is_about_kind(test):
            return bool(names_in(test) & self._assigned.get(scope or tree, set()))
        if isinstance(test, ast.BoolOp):
            return any(self.is_varying(part, scope, tree) for part in test.values)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.is_varying(test.operand, scope, tree)
        known = self._locals.get(scope or tree, set()) | (self._locals.get(tree, set()) if scope is not None else set())
        if names_in(test) & known or attributes_in(test) & self.attributes:
            return True
        return any(isinstance(part, ast.Call) and called_name(part) in _CHANCE for part in ast.walk(test))

    @staticmethod
    def _assigned_in_loops(scope: ast.AST) -> set[str]:
        found: set[str] = set()
        for loop in own_nodes(scope):
            if not isinstance(loop, _LOOPS):
                continue
            for node in ast.walk(loop):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    found.add(node.id)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
                    found |= {node.func.value.id} if isinstance(node.func.value, ast.Name) else set()
        if getattr(scope, "name", "") == "forward":
            found |= {argument.arg for argument in arguments_of(scope)} - {"self"}
        return found

    def _flow_of(self, scope: ast.AST) -> Iterator[_Flow]:
        """Where a scope's values go: read once, for they are gone through again as long as something is found."""
        for node in own_nodes(scope):
            if isinstance(node, ast.Assign):
                targets = {name for target in node.targets for name in names_in(target)}
                yield _Flow(names_in(node.value), set(), scope, targets)
            elif isinstance(node, ast.Call):
                name = called_name(node)
                for function in (each for source in self._sources for each in source.functions.get(name, [])):
                    for parameter, value in given_to(function, node):
                        yield _Flow(names_in(value), attributes_in(value), function, {parameter})

    def _spread(self, scope: ast.AST, flows: list[_Flow]) -> bool:
        """Passes what varies in a scope on to what is assigned from it and to the functions it is given to."""
        known = self._locals[scope]
        before = sum(map(len, self._locals.values()))
        for flow in flows:
            if flow.names & known or flow.attributes & self.attributes:
                self._locals[flow.into] |= flow.targets
        return sum(map(len, self._locals.values())) > before


@dataclass
class Passed:
    """A call that gives a value as it is to a function of the file."""

    function: Function
    parameter: str  # what the value is called there
    given: dict[str, ast.expr]  # every parameter of this call, in the words of the scope that was asked about


def passed_to(
    source: Source, scope: ast.AST, is_wanted: Callable[[ast.expr], bool], depth: int = 3
) -> Iterator[Passed]:
    """The functions of a file to which a value is given, calls within calls included."""
    for node in own_nodes(scope):
        if not isinstance(node, ast.Call):
            continue
        for function in source.functions.get(called_name(node), []):
            given = dict(given_to(function, node))
            for parameter in [name for name, value in given.items() if is_wanted(value)]:
                yield Passed(function, parameter, given)
                if depth > 1:
                    for inner in passed_to(source, function, _is_name(parameter), depth - 1):
                        words = {name: in_words_of(value, given) for name, value in inner.given.items()}
                        yield Passed(inner.function, inner.parameter, words)


def in_words_of(expression: ast.expr, given: Mapping[str, ast.expr]) -> ast.expr:
    """An expression within a function with what a call gives in place of its parameters."""

    class Renamer(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            instead = given.get(node.id)
            return node if instead is None else ast.copy_location(copy.deepcopy(instead), node)

    return Renamer().visit(copy.deepcopy(expression))  # type: ignore[no-any-return]


def _is_name(name: str) -> Callable[[ast.expr], bool]:
    return lambda node: isinstance(node, ast.Name) and node.id == name


def given_to(function: Function, call: ast.Call) -> list[tuple[str, ast.expr]]:
    """Parameters of a function with what a call gives for them."""
    arguments = arguments_of(function)
    if arguments and arguments[0].arg in ("self", "cls"):
        arguments = arguments[1:]
    given = list(zip((a.arg for a in arguments), call.args))
    return given + [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]


def arguments_of(scope: ast.AST) -> list[ast.arg]:
    arguments = getattr(scope, "args", None)
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs] if arguments is not None else []


def called_name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _changed_attributes(scope: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in own_nodes(scope):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        method = node.func if isinstance(node, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr in _MUTATORS and isinstance(method.value, ast.Attribute):
            found.add(method.value.attr)
    return found


def _is_about_kind(test: ast.expr) -> bool:
    """`x is None`, isinstance(), hasattr(), __name__: the same in every step."""
    if isinstance(test, ast.Compare):
        return all(isinstance(op, (ast.Is, ast.IsNot)) for op in test.ops) or "__name__" in names_in(test)
    return isinstance(test, ast.Call) and called_name(test) in ("isinstance", "hasattr", "callable", "issubclass")
