"""What flows from one round of a loop into what a later round trains, by the loop's text.

    it += 1                          read before it is written in a round, and made of itself: carried over
    beta = min(1.0, it / 1000)       needed by what trains, needs `it`
    loss = recon + beta * kl         needed by what trains, needs `beta`
    loss.backward()                  trains
    if it > 500: ema.update(model)   hands a model to somebody under a test of `it`: may change weights
    if it >= 900: break              decides how many rounds there are

Values of one round alone (`x = x.cuda()`, `loss = loss / 2`) are no matter, nor is what only tells (print, add_scalar),
saves or evaluates.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import NamedTuple

from vramfit.steer.coverage.source import Function, Source, arguments_of, called_name, given_to

_WORD = re.compile(r"[A-Z]?[a-z]+")
# Names of functions that only look at a model or report on it.
_LOOKS = frozenset({
    "print", "log", "logger", "info", "debug", "warning", "write", "writer", "scalar", "scalars", "histogram", "image",
    "images", "figure", "text", "postfix", "description", "save", "saving", "dump", "checkpoint", "plot",
    "show", "sample", "samples", "generate", "report", "summary", "format", "len", "eval", "evaluate", "evaluation",
    "evaluator", "val", "valid", "validate", "validation", "test", "testing", "predict", "inference", "infer",
    "visualize", "export",
})  # fmt: skip
# Methods that do so by exactly these names: train_step() is none of them.
_LOOKING_METHODS = frozenset({"train", "to", "zero_grad", "state_dict", "item"})
_HELD_BACK = frozenset({"clip_grad_norm_", "clip_grad_value_", "unscale_"})  # until a step is due (training_loop.py)
_JUMPS = (ast.Break, ast.Return, ast.Continue)
_MOST_CALLS = 3  # within one another that are looked into


class _Step(NamedTuple):
    """A statement of the loop that holds no others, or the head of one that does."""

    node: ast.AST
    line: int
    end: int
    reads: frozenset[str]
    writes: frozenset[str]  # gives a value to
    touches: frozenset[str]  # calls a method of, which may change it
    tests: frozenset[str]  # what the tests around it read


class _Uses(NamedTuple):
    """Names, with the line that needs each."""

    trains: dict[str, int]
    ends: dict[str, int]
    hands_on: dict[str, int]


@dataclass
class Names:
    """The names of the function, by what they stand for while its loop runs."""

    models: set[str]
    schedulers: set[str]
    containers: set[str]  # lists, dicts
    outer: set[str]  # counted by the loops around
    once: set[str]  # tests that come out true once a batch, for its last part
    decide: Callable[[ast.expr], bool | None]  # a test that comes out the same in all rounds; None: nobody knows


class Flow:
    """`trained_at`: lines at which the script was seen to train, by the function that they are in."""

    def __init__(self, loop: ast.For, source: Source, names: Names, trained_at: dict[CodeType, set[int]]) -> None:
        self._source, self._names = source, names
        self._trained_at = {code.co_name: lines for code, lines in trained_at.items()}
        steps = _steps_in(loop.body, frozenset(), names.decide)
        self._steps = [step for step in steps if not step.tests & names.once]
        given = {key for step in self._steps for key in step.writes}
        self._changed = given | {key for step in self._steps for key in step.touches & names.containers}
        self._exposed = _exposed_in(loop.body, set(names_in(loop.target)))
        self._numbers = _numbered_by(loop)

    def find_carried(self, lines: set[int], is_numbered: bool) -> tuple[str, int] | None:
        """The first value that is carried over and needed, and the line that needs it.

        `is_numbered`: enumerate() numbers the script's batches, not their parts (batch_numbers.py). Then what a number
        decides stays as it is, but for what is done once for each part of a batch that has it.
        """
        uses = self._uses(lines)
        needed: dict[str, int] = {}
        for each in uses:
            self._merge(each, needed)
        carried = {key: line for key, line in needed.items() if self._is_carried(key)}
        for key in self._numbers & needed.keys():
            ends_early = key in uses.ends and key in uses.trains
            if not is_numbered or key in uses.hands_on or ends_early:
                carried[key] = uses.hands_on.get(key, uses.ends[key] if ends_early else needed[key])
        return min(carried.items(), key=lambda each: each[1], default=None)

    def does_number_end(self, lines: set[int]) -> bool:
        """Whether the number of a round decides, after the training in it, that it was the last one."""
        return bool(self._numbers & self._uses(lines).ends.keys())

    def _uses(self, lines: set[int]) -> _Uses:
        """What decides about the training of a round, about its last round, and about what else is done with a model;
        each with the line that needs it."""
        uses = _Uses({}, {}, {})
        trained = [step for step in self._steps if any(step.line <= line <= step.end for line in lines)]
        last = max((step.line for step in trained), default=0)
        things = self._names.models | self._names.schedulers
        handed_on = [step for step in self._steps if step not in trained and self._is_handed_on(step, things)]
        for step in self._steps:
            if step in trained:
                self._need(self._reads_of_training(step, _MOST_CALLS) | step.tests, step.line, uses.trains)
            elif isinstance(step.node, ast.Continue) and step.line > last:
                if any(later.line > step.line for later in handed_on):
                    self._need(step.tests, step.line, uses.hands_on)
            elif isinstance(step.node, _JUMPS):
                self._need(step.tests, step.line, uses.trains if step.line < last else uses.ends)
            elif step in handed_on:
                self._need(step.tests | step.reads, step.line, uses.hands_on)
        for each in uses:
            self._follow(self._steps, each)
        return uses

    @staticmethod
    def _merge(one: dict[str, int], into: dict[str, int]) -> None:
        for key, line in one.items():
            into[key] = min(line, into.get(key, line))

    def find_late(self, lines: set[int]) -> tuple[str, int] | None:
        """What is done with a model from some later epoch on, and was not seen: the epoch, and the line."""
        for step in self._steps:
            trains = any(step.line <= line <= step.end for line in lines)
            waits_for = sorted(step.tests & self._names.outer)
            is_exact = any("update_parameters" in key for key in step.reads)  # AveragedModel's, after each step
            if waits_for and not trains and not is_exact and self._is_handed_on(step, self._names.models):
                return waits_for[0], step.line
        return None

    def _is_carried(self, key: str) -> bool:
        return key in self._exposed and key in self._changed and self._is_of_itself(key)

    @staticmethod
    def _need(keys: Iterable[str], line: int, needed: dict[str, int]) -> None:
        for key in keys:
            needed.setdefault(key, line)

    def _follow(self, steps: list[_Step], needed: dict[str, int]) -> None:
        """Back from what is needed to what it is made of."""
        before = -1
        while len(needed) != before:
            before = len(needed)
            for step in steps:
                if (step.writes | step.touches) & needed.keys():
                    self._need(step.reads | step.tests, step.line, needed)

    def _is_of_itself(self, key: str) -> bool:
        """A sum, a count, an average: what it was decides what it is next."""
        made_of: dict[str, int] = {}
        for step in self._steps:
            if key in step.writes or key in step.touches and key in self._names.containers:
                self._need(step.reads | step.tests, step.line, made_of)
        self._follow(self._steps, made_of)
        return key in made_of

    def _reads_of_training(self, step: _Step, depth: int) -> set[str]:
        """The names read where it trains. Where that was seen in a function, those that the function needs for it."""
        reads = set(step.reads)
        for call in (node for node in ast.walk(step.node) if isinstance(node, ast.Call)):
            for function in self._source.functions.get(called_name(call), []):
                lines = self._trained_at.get(function.name)
                if lines is None or depth == 0 or not any(function.lineno <= line for line in lines):
                    continue
                needed = self._needed_within(function, lines, depth - 1)
                for parameter, value in given_to(function, call):
                    if parameter not in needed:
                        reads -= _keys_in(value)
        return reads

    def _needed_within(self, function: Function, lines: set[int], depth: int) -> dict[str, int]:
        steps = list(_steps_in(function.body, frozenset(), lambda test: None))
        needed: dict[str, int] = {}
        for step in steps:
            if any(step.line <= line <= step.end for line in lines):
                self._need(self._reads_of_training(step, depth) | step.tests, step.line, needed)
        parameters = {argument.arg for argument in arguments_of(function)}
        if "lr" in ast.dump(function) or "param_groups" in ast.dump(function):
            self._need(parameters, function.lineno, needed)  # what sets a learning rate
        self._follow(steps, needed)
        return needed

    def _is_handed_on(self, step: _Step, things: set[str]) -> bool:
        """Whether it gives one of them to somebody who may change it, or sets something of an optimizer."""
        if step.writes and any("param_groups" in key for key in step.reads | step.writes | step.tests):
            return True
        if not step.reads & things:
            return False
        whole = getattr(step.node, "value", None)
        if isinstance(whole, ast.Call) and called_name(whole) in _HELD_BACK:
            return False
        for call in (node for node in ast.walk(step.node) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            if name not in self._names.models and not only_looks(name):
                return True
        return False


def only_looks(name: str) -> bool:
    words = {word.lower() for word in _WORD.findall(name)}
    return bool(words & _LOOKS) or name.rpartition(".")[2] in _LOOKING_METHODS


def _steps_in(
    suite: list[ast.stmt], tests: frozenset[str], decide: Callable[[ast.expr], bool | None]
) -> Iterator[_Step]:
    for node in suite:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        inner = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
        if not any(inner) and not isinstance(node, ast.Try):
            end = node.end_lineno or node.lineno
            yield _Step(node, node.lineno, end, _reads_of(node), _writes_of(node), _touches_of(node), tests)
            continue
        decided = decide(node.test) if isinstance(node, ast.If) else None
        if decided is not None:
            inner[0 if decided is False else 1] = []
        within = tests
        for part, writes in _heads_of(node):
            end = part.end_lineno or node.lineno
            yield _Step(part, node.lineno, end, _keys_in(part), writes, frozenset(), tests)
            if not isinstance(node, (ast.With, ast.AsyncWith)):
                within |= _keys_in(part)
        for handler in getattr(node, "handlers", []):
            inner.append(handler.body)
        for each in inner:
            yield from _steps_in(each, within, decide)


def _heads_of(node: ast.stmt) -> Iterator[tuple[ast.expr, frozenset[str]]]:
    """The expressions that decide about the statements within one, and the names that get their values there."""
    if isinstance(node, (ast.If, ast.While)):
        yield node.test, frozenset()
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield node.iter, frozenset(names_in(node.target))
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            names = names_in(item.optional_vars) if item.optional_vars is not None else ()
            yield item.context_expr, frozenset(names)


def _reads_of(node: ast.stmt) -> frozenset[str]:
    keys = _keys_in(node)
    return keys | {ast.unparse(node.target)} if isinstance(node, ast.AugAssign) else keys


def _keys_in(node: ast.AST) -> frozenset[str]:
    """Names, attributes and items that are read: `it`, `self.step`, `state['it']`."""
    found = set()
    for each in ast.walk(node):
        if isinstance(each, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(each.ctx, ast.Load):
            found.add(ast.unparse(each))
    return frozenset(found)


def _writes_of(node: ast.stmt) -> frozenset[str]:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    return frozenset(name for target in targets for name in names_in(target))


def _touches_of(node: ast.stmt) -> frozenset[str]:
    called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    return frozenset({ast.unparse(called.value)}) if isinstance(called, ast.Attribute) else frozenset()


def names_in(target: ast.AST) -> Iterator[str]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from names_in(each)
    elif isinstance(target, ast.Starred):
        yield from names_in(target.value)
    elif isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
        yield ast.unparse(target)


def _exposed_in(suite: list[ast.stmt], written: set[str]) -> set[str]:
    """The names that may be read in a round before that round has written them. `written` grows by what surely was."""
    exposed: set[str] = set()
    for node in suite:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        heads = list(_heads_of(node))
        is_plain = not heads and not isinstance(node, ast.Try)
        for part in [node] if is_plain else [head for head, _ in heads]:
            exposed |= (_reads_of(part) if isinstance(part, ast.stmt) else _keys_in(part)) - written
        if is_plain:
            written |= _writes_of(node)
        elif isinstance(node, ast.If):
            one, other = set(written), set(written)
            exposed |= _exposed_in(node.body, one) | _exposed_in(node.orelse, other)
            written |= one & other
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            written |= {name for _, names in heads for name in names}
            exposed |= _exposed_in(node.body, written)
        else:
            inside = written | {name for _, names in heads for name in names}
            for each in ("body", "orelse", "finalbody"):
                exposed |= _exposed_in(getattr(node, each, []), inside)
    return exposed


def _numbered_by(loop: ast.For) -> set[str]:
    """The number of a round: `for i, batch in enumerate(loader)`."""
    is_enumerated = isinstance(loop.iter, ast.Call) and any(
        isinstance(node, ast.Call) and called_name(node) == "enumerate" for node in ast.walk(loop.iter)
    )
    is_pair = isinstance(loop.target, ast.Tuple) and len(loop.target.elts) > 1
    return set(names_in(loop.target.elts[0])) if is_enumerated and is_pair else set()  # type: ignore[attr-defined]
