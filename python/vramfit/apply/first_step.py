"""Refuses what a plan promised and cannot do any more once the first optimizer step is due."""

from __future__ import annotations

import gc
import sys
from typing import Any

from vramfit.apply import near_names
from vramfit.observe import network_makers
from vramfit.observe.phases import position
from vramfit.private import torch as of_torch

_OF_LOADERS = ("micro_batch", "batch_size", "resize_input", "loader_options")


def missed(technique: str, options: dict[str, Any]) -> str:
    """Why a technique that has said nothing so far does not apply; empty while it may still."""
    if technique in _OF_LOADERS:
        return _missed_of_loader(technique, options)
    if technique == "checkpoint":
        return _missing_module([str(name) for name in options.get("modules", [])])
    if technique == "offload_activations":
        return _missed_of_saved([str(name) for name in options.get("modules", [])])
    if technique == "release_gradients" and position.trained:
        return "no backward pass left a gradient with an optimizer"
    if technique in ("lora", "half_weights"):
        return "the script made no optimizer for a network's weights"
    if technique == "sparse_embeddings":
        return "the script made no optimizer for embeddings"
    if technique == "host_transforms":
        return "no transform of torchvision or kornia was called with tensors of the card"
    if technique == "prune":
        return "the script made no optimizer for a network with convolutions"
    if technique == "optimizer":
        return "no optimizer that the script made takes these options"
    if technique == "attention" and position.trained:
        return "no attention was called that a fused kernel could work out and does not"
    if technique == "smaller_model":
        return _missed_network(str(options["from"]))
    return ""


def _missed_network(name: str) -> str:
    made = network_makers.made()
    others = f": it made {', '.join(sorted(made))}" if made else ""
    return f"the script made no {name} by a name or a config{others}"


def _missed_of_loader(technique: str, options: dict[str, Any]) -> str:
    from vramfit.observe import loaders

    if not loaders.was_begun(0):
        return "the script trains without a DataLoader"
    if technique == "resize_input":
        return "the batches hold neither images nor token sequences"
    wanted = options.get("loaders", [0])
    trains = technique == "micro_batch" and int(options.get("accumulate", 1)) > 1
    if trains and not any(loaders.was_begun(int(ordinal)) for ordinal in wanted):
        return f"the script trains on {loaders.spelled_begun()}, and the plan names {', '.join(map(str, wanted))}"
    if technique == "micro_batch" and all(loaders.was_begun(int(ordinal)) for ordinal in wanted):
        return f"the data loader's batches are not larger than {options.get('micro_batch')}"
    return ""


def _missed_of_saved(names: list[str]) -> str:
    if any(of_torch.compiled_call.of(module) is not None for module in _modules()):
        return "the model is compiled: torch.compile decides what it saves, and when"
    if missing := _missing_module(names):
        return missing
    if not position.trained:
        return ""  # its closure trains within the step
    return "nothing that the model saves for its backward pass is large enough to be worth the way"


def _modules() -> list[Any]:
    """All there are: a model that has not run yet may be the one that is asked for."""
    module_class = sys.modules["torch"].nn.Module
    return [found for found in gc.get_objects() if issubclass(type(found), module_class)]


def _missing_module(names: list[str]) -> str:
    modules = _modules() if names else []
    for name in names:
        path = name[name.rfind("/") + 1 :]  # after the class of a network that is not the first
        if not any(_has(module, path) for module in modules):
            return f"no model of the script has a module {name}{near_names.instead_of(path, _names_in(modules))}"
    return ""


def _names_in(modules: list[Any]) -> set[str]:
    """Of all modules that no other has, as their own named_modules() spells them."""
    inner = {id(child) for module in modules for child in of_torch.children.of(module, {}).values()}
    roots = [module for module in modules if id(module) not in inner]
    return {name for root in roots for name, _ in root.named_modules() if name}


def _has(module: Any, path: str) -> bool:
    for part in path.split("."):
        module = of_torch.children.of(module, {}).get(part)
        if module is None:
            return False
    return True
