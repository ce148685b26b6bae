"""Changes of the optimizer: where it is made, and what its gradients become."""

from __future__ import annotations

import ast
import inspect
import sys
from typing import Any

from vramfit.contract import plans
from vramfit.patch.editing import Editing
from vramfit.patch.source import Source
from vramfit.patch.source_tree import Unpatchable

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
