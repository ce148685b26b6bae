"""Each technique of a plan as changes of the source: a function for each, which raises Unpatchable where it can't be.

The places are those at which the techniques of python/vramfit/apply acted in the run.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from vramfit.apply.allocator import merged
from vramfit.contract import plans
from vramfit.patch import helpers
from vramfit.patch.editing import Editing
from vramfit.patch.loops import change_batch_size, draw_through, loops_of
from vramfit.patch.model_changes import checkpoint, offload_activations, prune, sparse_embeddings
from vramfit.patch.optimizer_changes import optimizer, zero_grad_set_to_none
from vramfit.patch.places import Line
from vramfit.patch.released import release_gradients
from vramfit.patch.source import Source
from vramfit.patch.source_tree import Span, Unpatchable
from vramfit.patch.step_changes import autocast, micro_batch
from vramfit.private import torch as of_torch


def batch_size(editing: Editing, options: plans.BatchSize) -> None:
    change_batch_size(editing, options.loaders, options.batch_size)


def loader_options(editing: Editing, options: plans.LoaderOptions) -> None:
    for ordinal, loader in editing.places.loaders.items():
        if loader.made is None:
            raise Unpatchable(f"data loader {ordinal} is made by no line of the script's")
        source, call = editing.call(loader.made, "data loaders are made")
        for name, value in options.given().items():
            source.add_keyword(call, name, repr(value))


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


def _source_of_work(editing: Editing) -> Source:
    places = editing.places.of("backward") + editing.places.of("evaluation")
    # Compiling makes functions of texts, from which Inductor calls backward() too: they have no file.
    path = next((place.stack[0].file for place in places if os.path.isfile(place.stack[0].file)), "")
    if not path:
        raise Unpatchable("neither training nor evaluation was seen")
    return editing.source(Line(path, "", Span(1, 0, 1, 0), 0))


def allocator(editing: Editing, options: plans.Allocator) -> None:
    conf = merged("", options.conf)
    _source_of_work(editing).put_first("import os", "", f'os.environ["PYTORCH_CUDA_ALLOC_CONF"] = {json.dumps(conf)}')


def memory_budget(editing: Editing, options: plans.MemoryBudget) -> None:
    source = _source_of_work(editing)
    source.add_import(f"import {of_torch.COMPILER_SETTINGS}")
    setting = f"{of_torch.COMPILER_SETTINGS}.{of_torch.memory_budget.name} = {options.budget:g}"
    source.add_helper("memory_budget", setting)  # behind the imports: graphs are divided when they are first called


def resize_input(editing: Editing, options: plans.ResizeInput) -> None:
    ordinals = list(editing.places.loaders)
    for source in draw_through(editing, ordinals, f"scaled({{}}, {options.scale})"):
        names = ("scaled", "scaled_side", "image_sides", "rescale", "rescale_image")
        editing.add_helper(source, helpers.SCALED, names)


_WHY_NOT = MappingProxyType(
    {
        "chunked_loss": "a loss in chunks takes a backward pass of its own",
        "split_forward": "each part of a batch runs again within the backward pass",
        "split_evaluation": "the outputs of parts of a batch are put together around each call of the network",
        "offload_optimizer": "the optimizer's state moves within each of its steps",
        "half_evaluation": "weights and results change their type around each evaluation",
        "tiles": "an evaluation in tiles takes the network's layers apart",
        "offload_weights": "weights come and go around each module's forward",
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
        "release_gradients": release_gradients,
        "optimizer": optimizer,
        "resize_input": resize_input,
        "no_grad_validation": no_grad_validation,
        "gather_on_cpu": gather_on_cpu,
        "allocator": allocator,
        "memory_budget": memory_budget,
        "empty_cache": empty_cache,
        "loader_options": loader_options,
        "zero_grad_set_to_none": zero_grad_set_to_none,
        **{name: _refuse(why) for name, why in _WHY_NOT.items()},
    }
)
