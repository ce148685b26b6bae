from __future__ import annotations

import torch
from torch import Tensor


class ConfusionMatrix:
    """Counts (true class, predicted class) pairs on the device of the predictions."""

    def __init__(self, classes: int, ignore_index: int = 255) -> None:
        self.classes = classes
        self.ignore_index = ignore_index
        self.counts: Tensor | None = None

    def update(self, predictions: Tensor, labels: Tensor) -> None:
        """predictions and labels (N, H, W) of class ids."""
        cells = self.classes * self.classes
        pair = torch.where(labels == self.ignore_index, cells, labels * self.classes + predictions)
        counts = torch.bincount(pair.flatten(), minlength=cells + 1)[:cells].view(self.classes, self.classes)
        self.counts = counts if self.counts is None else self.counts + counts

    def mean_iou(self) -> float:
        """Mean over the classes that occur; 0.0 before the first update."""
        if self.counts is None:
            return 0.0
        counts = self.counts.double()
        hit = counts.diag()
        union = counts.sum(0) + counts.sum(1) - hit
        present = union > 0
        return float((hit / union.clamp(min=1)).sum() / present.sum().clamp(min=1))
