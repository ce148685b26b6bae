"""Activation checkpointing of chosen modules: their forward runs again in backward (run_again).

With `keep` "products" the results of products of matrices and of convolutions stay from the first run, and what lies
between them is worked out again (PyTorch's selective activation checkpointing).
"""

from __future__ import annotations

import atexit
from typing import Any

from vramfit import apply
from vramfit.apply import foreign_forwards, forwards
from vramfit.apply.named_modules import NamedModules
from vramfit.apply.run_again import SCRIPTED, run_again_in_backward
from vramfit.base import events, notes, process
from vramfit.contract import notes as said
from vramfit.contract import plans
from vramfit.observe import scopes

ID = "checkpoint"
_FIRST_SELECTIVE = (2, 4)  # create_selective_checkpoint_contexts


def _run_again(module: Any, forward: Any, *args: Any, **kwargs: Any) -> Any:
    import torch

    if not (module.training and torch.is_grad_enabled()):
        return forward(*args, **kwargs)
    if _state.text:  # only now: a module that is found may never be called, or be called for a trace alone
        apply.applied(ID, _state.text)
        _state.text = ""
    output, state = run_again_in_backward(ID, module, forward, args, kwargs, _state.keeps_products)
    if state.has_changed:
        _state.changing.add(type(module).__name__)
    return output


def changing() -> list[str]:
    """Classes of modules that leave more than their outputs, or draw on the host: their second run is as the first was
    only where somebody sees to it, as this does and PyTorch's own checkpoint does not."""
    return sorted(_state.changing)


def _tell_hooks(blocks: dict[str, Any]) -> None:
    for name, block in blocks.items():
        inside = [part for part in block.modules() if part is not block]
        if any(map(forwards.is_hooked, inside)):
            text = f"hooks of modules within {name} are called in both of its runs: what they note is there twice"
            notes.note(said.PlanEffect(id=ID, text=text))
            return


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.keeps_products = False
        self.text = ""  # what is to be said once one of them runs
        self.changing: set[str] = set()


_state = process.own(_State)


class Checkpoint:
    KEEPS = process.ALL

    def __init__(self, options: plans.Checkpoint) -> None:
        self.named = NamedModules(ID, options.modules)

    def in_child(self) -> None:
        self.named.in_child()

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        found = self.named.find(module)
        if not found:
            return
        if type(module).__name__ == "OptimizedModule":
            apply.refused(ID, "the model is compiled: checkpoint its blocks in the script, before torch.compile")
            return
        if any(foreign_forwards.kind_of(block) == "scripted" for block in found.values()):
            apply.refused(ID, SCRIPTED)
            return
        for block in found.values():
            forwards.replace(block, _run_again)
        _tell_hooks(found)
        config = getattr(scopes.unwrap(module), "config", None)
        if getattr(config, "use_cache", None):
            config.use_cache = False  # a cache filled twice would be wrong; transformers does the same
        names = self.named.names
        but = " but for their products" if _state.keeps_products else ""
        _state.text = f"{len(names)} modules run again in backward{but}: {', '.join(names[:8])}"


def install(torch: Any, options: plans.Checkpoint) -> None:
    _state.keeps_products = options.keep == "products"
    if _state.keeps_products and tuple(map(int, torch.__version__.split(".")[:2])) < _FIRST_SELECTIVE:
        apply.refused(ID, f"PyTorch {torch.__version__} has no selective checkpointing: 2.4 and later have")
        return
    technique = process.own(Checkpoint, options)
    events.root_enter.listen(technique.enter)
    atexit.register(technique.named.at_end)
