"""Activation checkpointing of chosen modules: their forward runs again in backward instead of keeping its activations.

Random state is restored for the second run, so dropout repeats. Batch norm would update its running statistics twice;
in the second run they are left alone. Results equal those without checkpointing.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from vramfit import apply
from vramfit.apply import forwards
from vramfit.apply.named_modules import NamedModules
from vramfit.base import events, process
from vramfit.observe import scopes
from vramfit.private import torch as of_torch

ID = "checkpoint"


_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


@contextmanager
def _frozen_statistics(norms: list[Any]) -> Iterator[None]:
    """Batch norms update copies of their running statistics. (Without any they would save fewer tensors than before,
    which checkpoint() takes for a different computation.)"""
    kept = []
    for norm in norms:
        for name in _STATISTICS:
            buffer = of_torch.buffers.of(norm, {}).get(name)
            if norm.training and buffer is not None:
                kept.append((norm, name, buffer))
                of_torch.buffers.of(norm)[name] = buffer.clone()
    try:
        yield
    finally:
        for norm, name, buffer in kept:
            of_torch.buffers.of(norm)[name] = buffer


def _run_again_in_backward(module: Any, forward: Any, *args: Any, **kwargs: Any) -> Any:
    """A module's forward, checkpointed while it trains. Its hooks and its place in the model stay as they are."""
    import torch
    import torch.utils.checkpoint

    if not (module.training and torch.is_grad_enabled()):
        return forward(*args, **kwargs)
    norms = [m for m in module.modules() if isinstance(m, of_torch.batch_norm.get())]

    def contexts() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
        return nullcontext(), _frozen_statistics(norms)

    extra = {"context_fn": contexts} if norms else {}
    return torch.utils.checkpoint.checkpoint(forward, *args, use_reentrant=False, **extra, **kwargs)


class Checkpoint:
    KEEPS = process.ALL

    def __init__(self, options: dict[str, Any]) -> None:
        self.named = NamedModules(ID, [str(name) for name in options.get("modules", [])])

    def in_child(self) -> None:
        self.named.in_child()

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        found = self.named.find(module)
        if not found:
            return
        if type(module).__name__ == "OptimizedModule":
            apply.refused(ID, "the model is compiled: checkpoint its blocks in the script, before torch.compile")
            return
        for block in found.values():
            forwards.replace(block, _run_again_in_backward)
        config = getattr(scopes.unwrap(module), "config", None)
        if getattr(config, "use_cache", None):
            config.use_cache = False  # a cache filled twice would be wrong; transformers does the same
        names = self.named.names
        apply.applied(ID, f"{len(names)} modules run again in backward: {', '.join(names[:8])}")


def install(torch: Any, options: dict[str, Any]) -> None:
    technique = process.own(Checkpoint, options)
    events.root_enter.listen(technique.enter)
    atexit.register(technique.named.at_end)
