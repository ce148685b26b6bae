"""Models whose forward is not what their modules say: techniques that work within it leave them alone."""

from __future__ import annotations

from typing import Any, Literal

from vramfit.private import torch as of_torch

Kind = Literal["", "compiled", "sharded"]
# FSDP 1 wraps modules in a class; `fully_shard` gives those it shards another one, with this base.
_SHARDED = ("FullyShardedDataParallel", "FSDPModule")


def is_sharded(module: Any) -> bool:
    """Whether this module itself gathers its parameters from several ranks."""
    return any(name in base.__name__ for base in type(module).__mro__ for name in _SHARDED)


def kind_of(module: Any) -> Kind:
    """What the forward of this module, or of any in it, is made into."""
    for part in module.modules():
        if type(part).__name__ == "OptimizedModule" or of_torch.compiled_call.of(part, None) is not None:
            return "compiled"
        if is_sharded(part):
            return "sharded"
    return ""
