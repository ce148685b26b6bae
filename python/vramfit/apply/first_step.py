"""Refuses what a plan promised and cannot do any more once the first optimizer step is due."""

from __future__ import annotations

import gc
import sys
from typing import Any

from vramfit.apply import near_names, torch_script
from vramfit.contract import plans
from vramfit.observe import compiling, network_makers
from vramfit.observe.phases import position
from vramfit.private import torch as of_torch

_OF_LOADERS = (plans.MicroBatch, plans.BatchSize, plans.ResizeInput, plans.LoaderOptions)


def missed(options: plans.Technique) -> str:
    """Why a technique that has said nothing so far does not apply; empty while it may still."""
    if isinstance(options, _OF_LOADERS):
        return _missed_of_loader(options)
    if isinstance(options, plans.Checkpoint):
        return _missing_module(options.modules)
    if isinstance(options, plans.OffloadActivations):
        return _missed_of_saved(options.modules or [])
    if isinstance(options, plans.ReleaseGradients) and position.trained:
        return "no backward pass left a gradient with an optimizer"
    if isinstance(options, (plans.Lora, plans.HalfWeights)):
        return "the script made no optimizer for a network's weights"
    if isinstance(options, plans.SparseEmbeddings):
        return "the script made no optimizer for embeddings"
    if isinstance(options, plans.HostTransforms):
        return "no transform of torchvision or kornia was called with tensors of the card"
    if isinstance(options, plans.MemoryBudget):
        return "" if compiling.is_used() else "the script compiles nothing by torch.compile"
    if isinstance(options, plans.ChunkedLoss) and torch_script.is_made() and position.trained:
        return "the script's losses are TorchScript, which works them out by itself"
    if isinstance(options, plans.Prune):
        return "the script made no optimizer for a network with convolutions"
    if isinstance(options, plans.Optimizer):
        return "no optimizer that the script made takes these options"
    if isinstance(options, plans.Attention) and position.trained:
        return "no attention was called that a fused kernel could work out and does not"
    if isinstance(options, plans.SmallerModel):
        return _missed_network(options.from_)
    return ""


def _missed_network(name: str) -> str:
    made = network_makers.made()
    others = f": it made {', '.join(sorted(made))}" if made else ""
    return f"the script made no {name} by a name or a config{others}"


def _missed_of_loader(options: plans.Technique) -> str:
    from vramfit.observe import loaders

    if not loaders.was_begun(0):
        return "the script trains without a DataLoader"
    if isinstance(options, plans.ResizeInput):
        return "the batches hold neither images nor token sequences"
    if not isinstance(options, plans.MicroBatch):
        return ""
    wanted = options.loaders
    if options.accumulate > 1 and not any(loaders.was_begun(ordinal) for ordinal in wanted):
        return f"the script trains on {loaders.spelled_begun()}, and the plan names {', '.join(map(str, wanted))}"
    if all(loaders.was_begun(ordinal) for ordinal in wanted):
        return f"the data loader's batches are not larger than {options.micro_batch}"
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
    """The names of all modules that no other has, as their own named_modules() spells them."""
    inner = {id(child) for module in modules for child in of_torch.children.of(module, {}).values()}
    roots = [module for module in modules if id(module) not in inner]
    return {name for root in roots for name, _ in root.named_modules() if name}


def _has(module: Any, path: str) -> bool:
    for part in path.split("."):
        module = of_torch.children.of(module, {}).get(part)
        if module is None:
            return False
    return True
