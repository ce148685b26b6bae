"""Layers that mix the samples of a batch, or draw random numbers for each: in parts they do something else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vramfit.contract import notes as said
from vramfit.observe import batch_norms


def effects_of_mixing(module: Any, size: int) -> Iterator[tuple[str, said.EffectKind]]:
    """Known for what the layers are, in parts of so many samples."""
    if any(getattr(part, "scale_grad_by_freq", False) and part.training for part in module.modules()):
        yield f"an embedding divides gradients by how often a row is in {size} samples (scale_grad_by_freq)", "other"
    if batch_norms.train_in(module):
        yield (
            f"batch normalisation sees {size} samples at once, so statistics and gradients are others",
            "batch_statistics",
        )


def effects_of_parts(module: Any, size: int) -> Iterator[tuple[str, said.EffectKind]]:
    """Besides, what is drawn."""
    yield from effects_of_mixing(module, size)
    draws = any(
        "Dropout" in type(part).__name__ and part.training and getattr(part, "p", 0) for part in module.modules()
    )
    if draws and not batch_norms.train_in(module):
        yield "dropout draws its masks for each micro-batch: other random numbers, of the same distribution", "other"
