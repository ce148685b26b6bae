"""The private names of Hugging Face's accelerate, for scripts with a loop of their own.

Its documentation has Accelerator.accumulate() and sync_gradients; who sets the latter, and how loaders hand batches on,
is in none of it. https://huggingface.co/docs/accelerate/usage_guides/gradient_accumulation
"""

from __future__ import annotations

from vramfit.private.names import Attribute, Name

LIBRARY = "accelerate"
LOADERS = "accelerate.data_loader"
ACCELERATOR = "accelerate.accelerator"
READY = (ACCELERATOR,)
_PARTS = "batches are not given in parts under a plan"
hand_on = Name(f"{LOADERS}:DataLoaderShard.__iter__", _PARTS)
loader_of_shard = "base_dataloader"  # documented for DataLoaderAdapter
begin_batch = Name(f"{ACCELERATOR}:Accelerator._do_sync", _PARTS)
put_off_step = Name("accelerate.state:GradientState._set_sync_gradients", _PARTS)
gradient_state = Attribute(f"{ACCELERATOR}:Accelerator.gradient_state", _PARTS)
settings = Attribute("accelerate.state:GradientState.plugin_kwargs", _PARTS)
