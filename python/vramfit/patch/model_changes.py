"""Changes of the model: before its optimizer is made, or around each call of it."""

from __future__ import annotations

import ast
import json
from typing import Any

from vramfit.contract import plans
from vramfit.observe import scopes
from vramfit.patch import helpers
from vramfit.patch.editing import Editing
from vramfit.patch.places import Line, Place
from vramfit.patch.source import Source
from vramfit.patch.source_tree import Unpatchable


def checkpoint(editing: Editing, options: plans.Checkpoint) -> None:
    wanted = options.modules
    if other := [name for name in wanted if "/" in name]:
        raise Unpatchable(f"{other[0]} is of a second model")
    from vramfit.apply import checkpoint as checkpointing  # it imports torch, which is there where a job ran

    if changing := checkpointing.changing():
        raise Unpatchable(
            f"{changing[0]} changes something in its forward (a counter, a buffer), which would change twice a step"
        )
    if any(type(root).__name__ == "DataParallel" for _, root in scopes.live_roots()):
        raise Unpatchable("DataParallel makes copies of the modules, whose forwards would be those of the first card")
    if own := [name for name in wanted if any(_has_own_forward(root, name) for _, root in scopes.live_roots())]:
        raise Unpatchable(f"{own[0]} has a forward of its own, which its class knows nothing of")
    listed = "[" + ", ".join(json.dumps(one, ensure_ascii=False) for one in wanted) + "]"
    source = _change_model(editing, wanted, f"run_again_in_backward({{}}, {listed})")
    text, names = helpers.RUN_AGAIN, helpers.RUN_AGAIN_NAMES
    if options.keep == "products":
        text, names = helpers.KEEPS_PRODUCTS, helpers.KEEPS_PRODUCTS_NAMES
    editing.add_helper(source, text, names, helpers.RUN_AGAIN_IMPORTS)


def _has_own_forward(root: Any, name: str) -> bool:
    """Whether a library has put one there: accelerate, peft."""
    return "forward" in vars(dict(scopes.unwrap(root).named_modules()).get(name, root))


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
