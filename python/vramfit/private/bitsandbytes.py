"""The private names of bitsandbytes.

GlobalOptimManager is documented as what gives single parameters settings of their own; where an optimizer keeps it, and
where it keeps them, is not. https://huggingface.co/docs/bitsandbytes/reference/optim/optim_overview
"""

from __future__ import annotations

from vramfit.private.names import Attribute

LIBRARY = "bitsandbytes"
OPTIMIZERS = "bitsandbytes.optim.optimizer"
READY = (OPTIMIZERS,)
_REFUSED = "gradients of its optimizers are not released under a plan"
manager = Attribute(f"{OPTIMIZERS}:Optimizer8bit.mng", _REFUSED)
settings_by_place = Attribute(f"{OPTIMIZERS}:GlobalOptimManager.index2config", _REFUSED)
settings_of_modules = Attribute(f"{OPTIMIZERS}:GlobalOptimManager.module_weight_config_triple", _REFUSED)
