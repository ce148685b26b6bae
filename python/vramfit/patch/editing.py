"""The files of a job as a patch changes them, and what techniques share: where a step begins, and whose loss it is."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from typing import Any

from vramfit.patch.places import Line, Place, Places
from vramfit.patch.source import Source
from vramfit.patch.source_tree import Span, Unpatchable


@dataclass
class _Loss:
    """What is differentiated at one place: several techniques may change it."""

    source: Source
    call: ast.Call
    share: bool = False
    scaled: bool = False


class Editing:
    def __init__(self, places: Places) -> None:
        self.places = places
        self.sources: dict[str, Source] = {}
        self._losses: dict[tuple[str, Span], _Loss] = {}

    # -- files

    def source(self, line: Line) -> Source:
        if line.file not in self.sources:
            try:
                if os.stat(line.file).st_mtime > self.places.began:
                    raise Unpatchable(f"{line.file} was changed while the job ran")
                self.sources[line.file] = Source(line.file)
            except (OSError, SyntaxError, ValueError) as error:
                raise Unpatchable(f"{line.file} can't be read as source") from error
        return self.sources[line.file]

    def files(self) -> set[str]:
        """The files of all places that were seen."""
        seen = [place for places in self.places.seen.values() for place in places.values()]
        fetched = [place for loader in self.places.loaders.values() for place in loader.fetched.values()]
        return {line.file for place in (*seen, *fetched) for line in place.stack}

    def remember(self) -> Any:
        losses = {key: _Loss(one.source, one.call, one.share, one.scaled) for key, one in self._losses.items()}
        return {file: source.remember() for file, source in self.sources.items()}, losses

    def restore(self, remembered: Any) -> None:
        sources, self._losses = remembered
        for file, source in self.sources.items():
            source.restore(sources.get(file, (set(), set(), {}, {}, [], [], {})))

    def torch_in(self, source: Source) -> str:
        """What the file calls torch."""
        for statement in source.tree.body:
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    if alias.name == "torch":
                        return alias.asname or "torch"
                    if alias.name.startswith("torch.") and alias.asname is None:
                        return "torch"
        if "torch" in source.names():
            raise Unpatchable(f"{source.name} calls something else torch")
        source.add_import("import torch")
        return "torch"

    def add_helper(self, source: Source, text: str, names: tuple[str, ...], imports: tuple[str, ...] = ()) -> None:
        """Adds it once in a file. Its names have to be free there."""
        if names[0] in source.helpers:
            return
        defined = source.defined()
        taken = [name for name in names if name in defined]
        if taken:
            raise Unpatchable(f"{source.name} has a name {taken[0]} already")
        text = text.format(torch=self.torch_in(source))
        for line in imports:
            source.add_import(line)
        source.add_helper(names[0], text)

    # -- calls of the script's own

    def direct(self, place: Place, what: str) -> Source:
        if place.library:
            raise Unpatchable(f"{what} by {place.library}, not by the script ({self.spelled(place)})")
        return self.source(place.line)

    @staticmethod
    def spelled(place: Place) -> str:
        return f"{place.line.file.rsplit('/', 1)[-1]}:{place.line.span.line}"

    def call(self, place: Place, what: str) -> tuple[Source, ast.Call]:
        source = self.direct(place, what)
        return source, source.call_at(place.line.span)

    def plain_statement(self, place: Place, what: str, method: str) -> tuple[Source, ast.Expr, ast.Call]:
        """`x.method(...)` as a statement of its own."""
        source, call = self.call(place, what)
        statement = source.statement_of(call)
        if not (isinstance(call.func, ast.Attribute) and call.func.attr == method):
            raise Unpatchable(f"{source.place(call)} is no call of {method}()")
        if not isinstance(statement, ast.Expr) or statement.value is not call:
            raise Unpatchable(f"{source.place(call)} uses what {method}() returns")
        return source, statement, call

    # -- the loss

    def loss_at(self, place: Place) -> _Loss:
        source, _, call = self.plain_statement(place, "backward() is called", "backward")
        key = (source.path, place.line.span)
        if key not in self._losses:
            self._losses[key] = _Loss(source, call)
        return self._losses[key]

    def write_losses(self) -> None:
        for loss in self._losses.values():
            assert isinstance(loss.call.func, ast.Attribute)
            value = loss.call.func.value
            text = loss.source.text_of(value)
            if loss.share:
                text = f"{text} * micro_batches.share" if _binds_tightly(value) else f"({text}) * micro_batches.share"
            if loss.scaled:
                loss.source.replace(value, f"grad_scaler.scale({text})")
            elif loss.share:
                loss.source.replace(value, f"({text})")

    # -- from a forward pass to its backward pass

    def regions(self) -> list[tuple[Source, list[ast.stmt]]]:
        """The neighbouring statements that make a loss, of each backward pass of the script's."""
        found = []
        for forwards, backward in self.places.regions.values():
            self.direct(backward, "backward() is called")
            found.append(self._region(forwards, backward))
        if not found:
            raise Unpatchable("no backward pass was seen")
        return found

    def _region(self, forwards: list[Place], backward: Place) -> tuple[Source, list[ast.stmt]]:
        first, block = None, None
        source = self.direct(backward, "backward() is called")
        for forward in forwards:
            self.direct(forward, "the model is called")
            inner, outer = _where_they_part(forward, backward)
            source = self.source(inner)
            here, index, end = self._common_block(source, inner, outer)
            if block is not None and here != block:
                raise Unpatchable(f"the models of {self.spelled(backward)} are called in several blocks")
            block, first, last = here, min(index, first if first is not None else index), end
        assert block is not None and first is not None
        statements = getattr(block[0], block[1])[first:last]
        self._check_no_step(source, statements)
        return source, statements

    def _common_block(self, source: Source, inner: Line, outer: Line) -> tuple[tuple[ast.AST, str], int, int]:
        ends = {(node, name): index for node, name, index in source.blocks_around(source.statement_at(outer.span))}
        for node, name, index in source.blocks_around(source.statement_at(inner.span)):
            if (node, name) in ends:
                if index >= ends[node, name]:
                    raise Unpatchable(f"forward and backward are one statement ({source.name}:{inner.span.line})")
                return (node, name), index, ends[node, name]
        raise Unpatchable(f"forward and backward are in different blocks ({source.name}:{inner.span.line})")

    def _check_no_step(self, source: Source, statements: list[ast.stmt]) -> None:
        if step := self.within("step", source, statements):
            raise Unpatchable(f"an optimizer steps before the backward pass ({self.spelled(step)})")

    def within(self, kind: str, source: Source, statements: list[ast.stmt]) -> Place | None:
        """A place of this kind that these statements lead to."""
        for place in self.places.of(kind):
            if any(line.file == source.path and is_within(line.span, statements) for line in place.stack):
                return place
        return None


def is_within(span: Span, statements: list[ast.stmt]) -> bool:
    return bool(statements) and statements[0].lineno <= span.line <= (statements[-1].end_lineno or 0)


def _where_they_part(forward: Place, backward: Place) -> tuple[Line, Line]:
    """The lines of both in the innermost call that they share."""
    common = None
    for one, other in zip(forward.stack, backward.stack):
        if (one.frame, one.file, one.function) != (other.frame, other.file, other.function):
            break
        common = (one, other)
    if common is None:
        raise Unpatchable("forward and backward run in different functions that nothing of the script's calls")
    return common


def _binds_tightly(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant))
