"""Models whose forward is not what their modules say: techniques that work within it leave them alone."""

from __future__ import annotations

from typing import Any, Literal

from vramfit.private import torch as of_torch

Kind = Literal["", "compiled", "sharded", "scripted"]
# FSDP 1 wraps modules in a class; `fully_shard` gives those it shards another one, with this base.
_SHARDED = ("FullyShardedDataParallel", "FSDPModule")
_ENGINE = "DeepSpeedEngine"  # and its kinds: of pipelines, of hybrids


def is_sharded(module: Any) -> bool:
    """Whether this module itself gathers its parameters from several ranks."""
    return any(name in base.__name__ for base in type(module).__mro__ for name in _SHARDED)


def is_engine(module: Any) -> bool:
    """Whether it is DeepSpeed's, which has backward passes, accumulation and steps of its own."""
    return any(base.__name__ == _ENGINE for base in type(module).__mro__)


def is_scripted(module: Any) -> bool:
    """Whether torch.jit.trace or torch.jit.script made it: the modules in it are called by no Python."""
    return any(base.__name__ == "ScriptModule" for base in type(module).__mro__)


def parts_of_engine(module: Any) -> int:
    """How many backward passes make up a step of it."""
    asked = getattr(module, "gradient_accumulation_steps", None)
    return max(int(asked()), 1) if callable(asked) else 1


def kind_of(module: Any) -> Kind:
    """What the forward of this module, or of any in it, is made into."""
    for part in module.modules():
        if type(part).__name__ == "OptimizedModule" or of_torch.compiled_call.of(part, None) is not None:
            return "compiled"
        if is_sharded(part):
            return "sharded"
    return "scripted" if any(map(is_scripted, module.modules())) else ""
