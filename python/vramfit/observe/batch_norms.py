"""Whether a model has batch norms that see a batch: those in training, which average over its samples."""

from __future__ import annotations

from typing import Any


def train_in(model: Any) -> bool:
    """Goes by the classes' names, as libraries have batch norms of their own; a "frozen" one is none in training
    either."""
    return any(part.training and _is_batch_norm(type(part).__name__) for part in model.modules())


def _is_batch_norm(class_name: str) -> bool:
    return "BatchNorm" in class_name and "Frozen" not in class_name
