"""Changes of the training step: batches in parts, and the types that are computed with."""

from __future__ import annotations

import ast

from vramfit.contract import plans
from vramfit.patch import helpers
from vramfit.patch.editing import Editing, is_within
from vramfit.patch.loops import change_batch_size, count_parts, draw_through, wrap_in_ifs
from vramfit.patch.places import Place
from vramfit.patch.source import Source
from vramfit.patch.source_tree import Unpatchable


def micro_batch(editing: Editing, options: plans.MicroBatch) -> None:
    size, ordinals = options.micro_batch, options.loaders
    if options.accumulate == 1:
        change_batch_size(editing, ordinals, size)
        return
    known = [editing.places.loaders[one] for one in ordinals if one in editing.places.loaders]
    if not all(loader.splittable for loader in known):
        raise Unpatchable("the batches hold more than tensors of as many rows as samples: they can't be split by rows")
    if editing.places.uneven_mean:
        raise Unpatchable("the loss is a mean over labels of which some are left out or weigh more")
    if editing.places.counted:
        raise Unpatchable(f"{editing.places.counted[0]}: in the source it would with each part of a batch")
    if line := editing.places.weighed_otherwise:
        raise Unpatchable(
            f"the loss of {line} is a sum or is divided by a number: its parts count by more than samples"
        )
    files = {source.path for source in draw_through(editing, ordinals, f"micro_batches.of({{}}, {size})")}
    count_parts(editing, ordinals)
    if len(files) != 1:
        raise Unpatchable("the script trains in loops of several files")
    source = editing.sources[files.pop()]
    names = ("MicroBatches", "samples_in", "part_of", "micro_batches")
    editing.add_helper(source, helpers.MICRO_BATCHES, names)
    for place in editing.places.of("backward"):
        loss = editing.loss_at(place)
        _check_file(loss.source, source, place)
        loss.share = True
    _once_a_batch(editing, source)


def _check_file(found: Source, wanted: Source, place: Place) -> None:
    if found is not wanted:
        raise Unpatchable(f"the loop over the data is in {wanted.name}, and {Editing.spelled(place)} in another file")


def _once_a_batch(editing: Editing, source: Source) -> None:
    """What the script does for each batch is done for the last of its parts; gradients are zeroed before the first."""
    last = [place for kind in ("step", "scheduler", "clip", "scaler") for place in _calls(editing, kind)]
    late = editing.places.of("zero_late")
    first = [place for place in editing.places.of("zero_early") if place.key() not in {one.key() for one in late}]
    if not editing.places.of("step"):
        raise Unpatchable("no optimizer step was seen")
    for places, header in ((last + late, "if micro_batches.is_last:"), (first, "if micro_batches.is_first:")):
        statements = []
        for place in places:
            found, call = editing.call(place, "a step is taken")
            _check_file(found, source, place)
            statement = found.statement_of(call)
            if not isinstance(statement, ast.Expr) or statement.value is not call:
                raise Unpatchable(f"{source.place(call)} uses what a step returns")
            statements.append(statement)
        wrap_in_ifs(source, statements, header)


def _calls(editing: Editing, kind: str) -> list[Place]:
    """The script's calls, without those that a constructor makes: a scheduler's begins with a step of its own."""
    names = {"step", "unscale_", "update", "clip_grad_norm_", "clip_grad_value_"}
    found = []
    for place in editing.places.of(kind):
        _, call = editing.call(place, "a step is taken")
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name in names or kind == "step":
            found.append(place)
    return found


def autocast(editing: Editing, options: plans.Autocast) -> None:
    dtype = options.dtype
    for source, statements in editing.regions():
        if source.defined() & {"BCELoss", "binary_cross_entropy"} or _speaks_of(source, "BCELoss"):
            raise Unpatchable("autocast refuses binary_cross_entropy, which the plan computes in full precision")
        if off := editing.within("autocast_off", source, statements):
            raise Unpatchable(f"the script has an autocast of its own, which is off ({editing.spelled(off)})")
        torch = editing.torch_in(source)
        source.wrap(statements[0], statements[-1], f'with {torch}.autocast("cuda", dtype={torch}.{dtype}):')
    _autocast_outside(editing, dtype)
    if options.is_scaled():
        _scale_losses(editing)


def _autocast_outside(editing: Editing, dtype: str) -> None:
    """Forwards without a backward pass: what they return is float32 again, as what comes behind expects it."""
    within = editing.regions()
    for place in editing.places.of("without_graph"):
        source, call = editing.call(place, "the model is called")
        statement = source.statement_of(call)
        if any(one is source and is_within(place.line.span, statements) for one, statements in within):
            continue
        if place.key() in editing.places.not_one_tensor or hasattr(statement, "body"):
            raise Unpatchable(f"what {source.place(call)} returns would be of another type")
        torch = editing.torch_in(source)
        source.append(call, ".float()")
        source.wrap(statement, statement, f'with {torch}.autocast("cuda", dtype={torch}.{dtype}):')


def _speaks_of(source: Source, name: str) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == name for node in ast.walk(source.tree))


def _scale_losses(editing: Editing) -> None:
    steps = editing.places.of("step")
    if len(steps) != 1:
        raise Unpatchable("a loss scaler needs one place where the optimizer steps")
    source, statement, call = editing.plain_statement(steps[0], "the optimizer steps", "step")
    if call.args or call.keywords:
        raise Unpatchable(f"{source.place(call)} steps with a closure")
    assert isinstance(call.func, ast.Attribute)
    optimizer = source.text_of(call.func.value)
    for place in editing.places.of("backward"):
        loss = editing.loss_at(place)
        _check_file(loss.source, source, place)
        loss.scaled = True
    for place in _calls(editing, "clip"):
        found, clip = editing.call(place, "gradients are clipped")
        _check_file(found, source, place)
        found.insert_before(found.statement_of(clip), f"grad_scaler.unscale_({optimizer})")
    source.replace(call, f"grad_scaler.step({optimizer})")
    source.insert_behind(statement, "grad_scaler.update()")
    torch = editing.torch_in(source)
    editing.add_helper(source, f'\ngrad_scaler = {torch}.amp.GradScaler("cuda")\n', ("grad_scaler",))
