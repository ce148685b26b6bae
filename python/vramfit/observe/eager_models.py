"""Models of transformers whose attention is set to "eager", which writes its scores out, and whether "sdpa" can take
its place."""

from __future__ import annotations

import sys
from typing import Any

from vramfit.private import transformers as of_transformers

# Settings of a config that eager attention applies to scores and sdpa does not.
_CAPS = ("attn_logit_softcapping", "attn_logit_softcap", "attention_logit_cap")


def is_model(module: Any) -> bool:
    modeling = sys.modules.get("transformers.modeling_utils")
    return modeling is not None and isinstance(module, modeling.PreTrainedModel)


def find_eager(root: Any) -> list[Any]:
    """Those within a module, or the module itself, that lie within no other."""
    found = [module for module in root.modules() if is_model(module) and is_eager(module)]
    inner = {id(module) for one in found for module in one.modules() if module is not one}
    return [module for module in found if id(module) not in inner]


def is_eager(model: Any) -> bool:
    return is_config_eager(getattr(model, "config", None))


def is_config_eager(config: Any) -> bool:
    return bool(of_transformers.attention.of(config) == "eager")


def why_not(model: Any, config: Any = None) -> str:
    """Why its attention has to stay eager; empty where it does not."""
    name, config = type(model).__name__, config if config is not None else model.config
    if getattr(config, "output_attentions", False):
        return f"{name} is asked for its attention's weights (output_attentions), which sdpa does not give"
    for cap in _CAPS:
        if getattr(config, cap, None) is not None:
            return f"{name} caps its attention's scores ({cap}), which sdpa does not"
    return "" if of_transformers.supports_sdpa.of(model, False) else f"{name} has eager attention only"
