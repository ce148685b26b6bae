"""Each technique of a plan as changes of the source: a function for each, which raises Unpatchable where it can't be.

The places are those at which the techniques of python/vramfit/apply acted in the run.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from vramfit.apply.allocator import merged
from vramfit.contract import plans
from vramfit.patch import helpers
from vramfit.patch.editing import Editing, is_within
from vramfit.patch.loops import change_batch_size, count_parts, draw_through, loops_of, wrap_in_ifs
from vramfit.patch.places import Line, Place
from vramfit.patch.source import Source
from vramfit.patch.source_tree import Span, Unpatchable


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


def batch_size(editing: Editing, options: plans.BatchSize) -> None:
    change_batch_size(editing, options.loaders, options.batch_size)


def loader_options(editing: Editing, options: plans.LoaderOptions) -> None:
    for ordinal, loader in editing.places.loaders.items():
        if loader.made is None:
            raise Unpatchable(f"data loader {ordinal} is made by no line of the script's")
        source, call = editing.call(loader.made, "data loaders are made")
        for name, value in options.given().items():
            source.add_keyword(call, name, repr(value))


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


def checkpoint(editing: Editing, options: plans.Checkpoint) -> None:
    wanted = options.modules
    if options.keep:
        raise Unpatchable("results that are kept go by PyTorch's selective checkpointing, which takes more than a line")
    if other := [name for name in wanted if "/" in name]:
        raise Unpatchable(f"{other[0]} is of a second model")
    listed = "[" + ", ".join(json.dumps(one, ensure_ascii=False) for one in wanted) + "]"
    source = _change_model(editing, wanted, f"run_again_in_backward({{}}, {listed})")
    names = ("run_again_in_backward", "checkpointed", "keeps_statistics")
    editing.add_helper(source, helpers.RUN_AGAIN, names, helpers.RUN_AGAIN_IMPORTS)


def _change_model(editing: Editing, modules: list[str], call: str) -> Source:
    """Puts a call with the model that has these modules before the line that makes its optimizer."""
    if not editing.places.optimizers:
        raise Unpatchable("no optimizer was made, before which the model would be changed")
    found = next(iter(editing.places.optimizers.values()))
    if found.times > 1:
        raise Unpatchable("the optimizer is made several times")
    for name, depth, has in found.models:
        if has.issuperset(modules):
            source, line = _line_at(editing, found.made, depth)
            source.insert_before(source.statement_at(line.span), call.format(name))
            return source
    which = "the model with these modules" if modules else "the model"
    raise Unpatchable(f"where the optimizer is made, no name of the script's holds {which}")


def prune(editing: Editing, options: plans.Prune) -> None:
    sides = ", ".join(str(side) for side in options.sample)
    source = _change_model(editing, [], f"take_channels_out({{}}, {options.share}, ({sides},))")
    editing.add_helper(source, helpers.FEWER_CHANNELS, helpers.FEWER_CHANNELS_NAMES, ("from typing import Any",))


def sparse_embeddings(editing: Editing, options: plans.SparseEmbeddings) -> None:
    if options.optimizer:
        raise Unpatchable(
            "a second optimizer takes the part of the script's in each of its steps: it stays with the plan"
        )
    source = _change_model(editing, [], "use_sparse_gradients({})")
    editing.add_helper(source, helpers.SPARSE_GRADIENTS, ("use_sparse_gradients",))


def _line_at(editing: Editing, place: Place, depth: int) -> tuple[Source, Line]:
    line = place.stack[-1 - depth]
    return editing.source(line), line


def offload_activations(editing: Editing, options: plans.OffloadActivations) -> None:
    if options.modules:
        raise Unpatchable("of single modules it needs a line around each call of them")
    least = options.at_least
    forwards = {place.key(): place for pair in editing.places.regions.values() for place in pair[0]}
    if not forwards:
        raise Unpatchable("no forward pass was seen")
    for place in forwards.values():
        source, call = editing.call(place, "the model is called")
        statement = source.statement_of(call)
        if not isinstance(call.func, (ast.Name, ast.Attribute)):
            raise Unpatchable(f"{source.place(call)} calls a model without a name")
        editing.add_helper(source, helpers.SAVED_ON_HOST, ("saved_on_host",))
        source.wrap(statement, statement, f"with saved_on_host({source.text_of(call.func)}, {least}):")


# What a replacement takes over from the script's own arguments: apply/optimizer.py.
_CARRIED = ("params", "lr", "betas", "eps", "weight_decay", "maximize")


def optimizer(editing: Editing, options: plans.Optimizer) -> None:
    if not editing.places.optimizers:
        raise Unpatchable("no optimizer was made")
    for found in editing.places.optimizers.values():
        source, call = editing.call(found.made, "the optimizer is made")
        own = _class_of(source, call)
        name = options.name
        if name is not None and "." in str(name):
            raise Unpatchable(f"{name} is of a package that the script does not use")
        if name is not None and str(name) != own:
            _replace_optimizer(editing, source, call, own, str(name), dict(options.options))
            continue
        for key, value in options.options.items():
            source.add_keyword(call, key, repr(value))
            if key == "fused" and value and _keyword(call, "foreach") is not None:
                source.add_keyword(call, "foreach", "None")


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _class_of(source: Source, call: ast.Call) -> str:
    """The name in torch.optim of the class that is called, whatever the script calls it."""
    written = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch.optim"):
            written = next((alias.name for alias in node.names if alias.asname == written), written)
    if not isinstance(getattr(sys.modules["torch"].optim, written, None), type):
        raise Unpatchable(f"{source.place(call)} names no class of torch.optim")
    return written


def _replace_optimizer(
    editing: Editing, source: Source, call: ast.Call, own: str, name: str, changed: dict[str, Any]
) -> None:
    import inspect

    optim = sys.modules["torch"].optim
    names = [one for one in inspect.signature(getattr(optim, own).__init__).parameters if one != "self"]
    accepted = inspect.signature(getattr(optim, name).__init__).parameters
    if any(keyword.arg is None for keyword in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        raise Unpatchable(f"{source.place(call)} unpacks the optimizer's arguments")
    given = dict(zip(names, call.args)) | {str(keyword.arg): keyword.value for keyword in call.keywords}
    if "eps" in given and "eps" in accepted and isinstance(accepted["eps"].default, tuple):
        del given["eps"]  # a pair, of which neither is the script's
    kept = {key: source.text_of(value) for key, value in given.items() if key in _CARRIED and key in accepted}
    kept.update({key: repr(value) for key, value in changed.items()})
    parameters = kept.pop("params")
    words = ", ".join([parameters, *(f"{key}={value}" for key, value in kept.items())])
    source.replace(call, f"{editing.torch_in(source)}.optim.{name}({words})")


def no_grad_validation(editing: Editing, options: plans.NoGradValidation) -> None:
    evaluations = editing.places.of("evaluation")
    if not evaluations:
        raise Unpatchable("no evaluation was seen")
    for place in evaluations:
        source = editing.direct(place, "the model is evaluated")
        function = source.function_around(source.statement_at(place.line.span))
        torch = editing.torch_in(source)
        if isinstance(function, ast.FunctionDef) and not _trains_in(editing, source, function):
            source.decorate(function, f"@{torch}.no_grad()")
        else:
            statement = source.statement_at(place.line.span)
            source.wrap(statement, statement, f"with {torch}.no_grad():")


def _trains_in(editing: Editing, source: Source, function: ast.FunctionDef) -> bool:
    kinds = ("backward", "step")
    lines = [line for kind in kinds for place in editing.places.of(kind) for line in place.stack]
    first, last = function.lineno, function.end_lineno or 0
    return any(line.file == source.path and first <= line.span.line <= last for line in lines)


def zero_grad_set_to_none(editing: Editing, options: plans.ZeroGradSetToNone) -> None:
    places = editing.places.of("gradients_kept")
    if not places:
        raise Unpatchable("no zero_grad(set_to_none=False) was seen")
    for place in places:
        source, _, call = editing.plain_statement(place, "gradients are zeroed", "zero_grad")
        if call.args:
            source.replace(call.args[0], "True")
        else:
            source.add_keyword(call, "set_to_none", "True")


def empty_cache(editing: Editing, options: plans.EmptyCache) -> None:
    for phase in options.before:
        if phase not in ("train", "validate"):
            raise Unpatchable(f"where the phase {phase} begins is no loop of the script's")
        loops = loops_of(editing, [n for n, one in editing.places.loaders.items() if one.trained == (phase == "train")])
        if not loops:
            raise Unpatchable(f"no loop was seen in which the job would {phase}")
        for source, loop, _ in loops:
            source.insert_before(loop, f"{editing.torch_in(source)}.cuda.empty_cache()")


def gather_on_cpu(editing: Editing, options: plans.GatherOnCpu) -> None:
    if editing.places.gathered is None:
        raise Unpatchable("no list that gathers was seen")
    name, where, is_tensors = editing.places.gathered
    file, _, rest = where.partition(":")
    line = int(rest.split()[0])
    path = next((one for one in editing.files() if one.endswith(file)), "")
    source = editing.source(Line(path, "", Span(line, 0, line, 0), 0))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and node.lineno == line and source.text_of(node.func) == f"{name}.append":
            value = node.args[0]
            if not is_tensors or isinstance(value, ast.Starred):
                break
            if not isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
                break
            source.append(value, ".cpu()")
            return
    raise Unpatchable(f"{where} is no {name}.append() of a tensor")


def allocator(editing: Editing, options: plans.Allocator) -> None:
    path = next((place.stack[0].file for place in editing.places.of("backward") + editing.places.of("evaluation")), "")
    if not path:
        raise Unpatchable("neither training nor evaluation was seen")
    source = editing.source(Line(path, "", Span(1, 0, 1, 0), 0))
    conf = merged("", options.conf)
    source.put_first("import os", "", f'os.environ["PYTORCH_CUDA_ALLOC_CONF"] = {json.dumps(conf)}')


def resize_input(editing: Editing, options: plans.ResizeInput) -> None:
    ordinals = list(editing.places.loaders)
    for source in draw_through(editing, ordinals, f"scaled({{}}, {options.scale})"):
        names = ("scaled", "scaled_side", "image_sides", "rescale", "rescale_image")
        editing.add_helper(source, helpers.SCALED, names)


_WHY_NOT = MappingProxyType(
    {
        "chunked_loss": "a loss in chunks takes a backward pass of its own",
        "split_forward": "each part of a batch runs again within the backward pass",
        "offload_optimizer": "the optimizer's state moves within each of its steps",
        "release_gradients": "updates within the backward pass take hooks on every parameter",
        "half_evaluation": "weights and results change their type around each evaluation",
        "tiles": "an evaluation in tiles takes the network's layers apart",
        "int8_weights": "weights of 8 bits need layers of their own",
        "int4_weights": "weights of 4 bits need layers of their own",
        "half_teacher": "weights and results change their type around each call of the teacher",
        "smaller_model": "which network is made is often an option's or a file's to say",
        "lora": "adapters need layers of their own",
        "attention": "what attention is given is brought into the shape of fused kernels at each call",
        "host_transforms": "batches go to the host and back around each call of a transform",
        "half_weights": "inputs and results change their type around each forward",
    }
)


def _refuse(why: str) -> Callable[[Editing, Any], None]:
    def refuse(editing: Editing, options: Any) -> None:
        raise Unpatchable(f"{why}: it stays with the plan")

    return refuse


CHANGES: Mapping[str, Callable[[Editing, Any], None]] = MappingProxyType(
    {
        "micro_batch": micro_batch,
        "batch_size": batch_size,
        "autocast": autocast,
        "checkpoint": checkpoint,
        "prune": prune,
        "sparse_embeddings": sparse_embeddings,
        "offload_activations": offload_activations,
        "optimizer": optimizer,
        "resize_input": resize_input,
        "no_grad_validation": no_grad_validation,
        "gather_on_cpu": gather_on_cpu,
        "allocator": allocator,
        "empty_cache": empty_cache,
        "loader_options": loader_options,
        "zero_grad_set_to_none": zero_grad_set_to_none,
        **{name: _refuse(why) for name, why in _WHY_NOT.items()},
    }
)
