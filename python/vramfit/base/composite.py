"""Operators that are made of others, as a dispatch mode meets them.

PyTorch takes such an operator apart where autograd would see it. In `torch.inference_mode()`, and with tensors made
there, nothing does: a mode is given `to`, `reshape` or `linear` whole, whose outputs it would take for a kernel's.
"""

from __future__ import annotations

from typing import Any

from vramfit.base import process
from vramfit.private import torch as of_torch


@process.cached()
def is_composite(overload: Any) -> bool:
    """Whether PyTorch has it only as Python or C++ code over other operators (CompositeImplicitAutograd)."""
    has_kernel = of_torch.has_kernel
    if not of_torch.decompose.is_in(overload):
        return False
    name = overload.name() if isinstance(overload, of_torch.overload.get()) else ""
    try:
        return bool(name) and has_kernel(name, "CompositeImplicitAutograd") and not has_kernel(name, "CUDA")
    except RuntimeError:  # one of TorchScript's own, which no dispatcher knows: prim::device, as compiled graphs ask it
        return False


def take_apart(mode: Any, overload: Any, args: Any, kwargs: Any) -> Any:
    """Runs a composite operator with `mode` over the ones it is made of."""
    with mode:
        return of_torch.decompose.of(overload)(*args, **kwargs)
