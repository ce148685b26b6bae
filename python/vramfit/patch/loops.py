"""Data loaders in the source: where they are made, and the `for` statements that draw from them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from vramfit.patch.editing import Editing
from vramfit.patch.source import Source
from vramfit.patch.source_tree import Unpatchable


def change_batch_size(editing: Editing, ordinals: list[int], size: int) -> None:
    for ordinal in ordinals:
        loader = editing.places.loaders.get(ordinal)
        if loader is None or loader.made is None:
            raise Unpatchable(f"data loader {ordinal} is made by no line of the script's")
        sharing = [n for n, one in editing.places.loaders.items() if one.made and one.made.key() == loader.made.key()]
        if not set(sharing) <= set(ordinals):
            raise Unpatchable(
                f"one line makes data loaders {', '.join(map(str, sharing))}: {editing.spelled(loader.made)}"
            )
        source, call = editing.call(loader.made, "data loaders are made")
        if any(keyword.arg in ("batch_sampler", None) for keyword in call.keywords):
            raise Unpatchable(f"{source.place(call)} has a batch sampler, or unpacks its arguments")
        if len(call.args) > 1:
            source.replace(call.args[1], str(size))
        else:
            source.add_keyword(call, "batch_size", str(size))


def loops_of(editing: Editing, ordinals: list[int]) -> list[tuple[Source, ast.For, ast.expr | None]]:
    """Each `for` that draws from these loaders, and what in it spells the loader."""
    found = []
    for ordinal in ordinals:
        for key, place in editing.places.loaders[ordinal].fetched.items():
            source = editing.direct(place, "batches are drawn")
            loop = source.loop_at(place.line.span)
            names = editing.places.loaders[ordinal].names[key]
            spelled = [n for n in ast.walk(loop.iter) if isinstance(n, ast.expr) and source.text_of(n) in names]
            made = editing.places.loaders[ordinal].made
            if not spelled and made is not None and made.line.file == source.path:
                call = source.call_at(made.line.span)
                spelled = [call] if call in set(ast.walk(loop.iter)) else []
            found.append((source, loop, spelled[0] if spelled else None))
    return found


def draw_through(editing: Editing, ordinals: list[int], call: str) -> list[Source]:
    """Puts `call` around what is drawn from; the files that were changed."""
    loops = loops_of(editing, [one for one in ordinals if one in editing.places.loaders])
    if not loops:
        raise Unpatchable("no loop over a data loader was seen")
    for source, loop, spelled in loops:
        if spelled is None:
            raise Unpatchable(f"{source.place(loop)} does not name the data loader it draws from")
        source.replace(spelled, call.format(source.text_of(spelled)))
    return [source for source, _, _ in loops]


def count_parts(editing: Editing, ordinals: list[int]) -> None:
    """What a script divides by behind its loop: as many parts as the loop saw, as with the plan."""
    for source, loop, spelled in loops_of(editing, [one for one in ordinals if one in editing.places.loaders]):
        loader = "" if spelled is None else source.text_of(spelled)
        function = source.function_around(loop)
        for node in ast.walk(function or source.tree):
            if not isinstance(node, ast.Call) or source.text_of(node) != f"len({loader})":
                continue
            if node.lineno > (loop.end_lineno or 0) and source.function_around(node) is function:
                source.replace(node, "micro_batches.parts")


def wrap_in_ifs(source: Source, statements: Iterable[ast.stmt], header: str) -> None:
    """Neighbours come under one `if`."""
    runs: list[list[ast.stmt]] = []
    chosen = sorted({id(one): one for one in statements}.values(), key=lambda one: one.lineno)
    for statement in chosen:
        node, name, index = source.block_of(statement)
        if runs:
            last = source.block_of(runs[-1][-1])
            if last[:2] == (node, name) and last[2] == index - 1:
                runs[-1].append(statement)
                continue
        runs.append([statement])
    for run in runs:
        source.wrap(run[0], run[-1], header)
