"""torchvision's private names."""

from __future__ import annotations

from vramfit.private.names import Name

LIBRARY = "torchvision"
MODULE = "torchvision.tv_tensors._torch_function_helpers"
READY = (MODULE,)

keeps_class = Name(
    f"{MODULE}:_FORCE_TORCHFUNCTION_SUBCLASS", "its images and boxes become plain tensors where a script moves them"
)
