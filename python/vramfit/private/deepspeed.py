"""Attributes that DeepSpeed puts on parameters."""

from __future__ import annotations

from vramfit.private.names import Attribute

LIBRARY = "deepspeed"
MODULE = "deepspeed.runtime.zero.partition_parameters"
READY = (MODULE,)

whole_size = Attribute(f"{MODULE}:Init.ds_numel", "sizes of parameters that ZeRO 3 spreads are not known")
