"""Gradients released in the backward pass: a line behind the one that makes the optimizer, where nothing else looks."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from types import MappingProxyType

from vramfit import apply
from vramfit.base import frames
from vramfit.contract import plans
from vramfit.patch import helpers
from vramfit.patch.editing import Editing
from vramfit.patch.places import Line, Place
from vramfit.patch.source import Source
from vramfit.patch.source_tree import Span, Unpatchable

# What would find no gradients, or those of one rank: calls and classes of PyTorch's by their names.
_NEEDS_GRADIENTS = MappingProxyType(
    {
        "clip_grad_norm_": "clips gradients",
        "clip_grad_value_": "clips gradients",
        "DistributedDataParallel": "exchanges gradients between ranks",
        "FullyShardedDataParallel": "exchanges gradients between ranks",
        "fully_shard": "exchanges gradients between ranks",
    }
)


def release_gradients(editing: Editing, options: plans.ReleaseGradients) -> None:
    if any(one.id == "offload_optimizer" for one in apply.planned()):
        raise Unpatchable("offload_optimizer, which stays with the plan, acts around each of the updates")
    made = list(editing.places.optimizers.values())
    if len(made) != 1 or made[0].times > 1:
        raise Unpatchable("it needs one optimizer, which is made once")
    if len(editing.places.stepped_on) != 1:
        raise Unpatchable("parameters are on several cards, each of which has a thread of the backward pass")
    for kind, what in (("backward", "backward() is called"), ("step", "a step is taken")):
        for place in editing.places.of(kind):
            editing.direct(place, what)
    _check_what_did_not_run(editing)
    source, statement, name = _variable_of(editing, made[0].made)
    editing.add_helper(source, helpers.UPDATE_IN_BACKWARD, ("update_in_backward",), ("import inspect",))
    source.insert_behind(statement, f"update_in_backward({name})")


def _check_what_did_not_run(editing: Editing) -> None:
    """The plan ends a job that looks at gradients. In the source nothing would: another option must not get there."""
    for source in _script_files(editing):
        for node in ast.walk(source.tree):
            if why := _why_it_needs_gradients(source, node):
                raise Unpatchable(f"{source.place(node)} {why}, though not in this run")


def _script_files(editing: Editing) -> Iterator[Source]:
    loaded = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
    for file in sorted(editing.files() | {file for file in loaded if os.path.isabs(file)}):
        if file.endswith(".py") and frames.is_script_file(file):
            yield editing.source(Line(file, "", Span(1, 0, 1, 0), 0))


def _why_it_needs_gradients(source: Source, node: ast.AST) -> str:
    if isinstance(node, ast.Attribute) and node.attr == "grad" and isinstance(node.ctx, ast.Load):
        return "" if source.is_called(node) else "looks at gradients"  # torch.autograd.grad() is called
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _NEEDS_GRADIENTS.get(node.attr if isinstance(node, ast.Attribute) else node.id, "")
    return ""


def _variable_of(editing: Editing, made: Place) -> tuple[Source, ast.stmt, str]:
    """The statement that gives the optimizer its name: in the function that makes it, or where that returns it to."""
    inner = ""
    for line in reversed(made.stack):
        source = editing.direct(made, "the optimizer is made") if not inner else editing.source(line)
        call = source.call_at(line.span)
        if inner and _last_name(call.func) != inner:
            break
        statement = source.statement_of(call)
        if name := _assigned(source, statement, call):
            return source, statement, name
        if not (isinstance(statement, ast.Return) and statement.value is call):
            break
        inner = line.function
    raise Unpatchable(f"no variable holds the optimizer where it is made ({editing.spelled(made)})")


def _last_name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _assigned(source: Source, statement: ast.stmt, call: ast.Call) -> str:
    """What this statement calls the result of the call; empty where that is nothing, or has something around it."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return ""
    value = statement.value
    results = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    plain = [source.text_of(one) for one in targets if isinstance(one, (ast.Name, ast.Attribute))]
    return plain[0] if plain and call in results else ""
