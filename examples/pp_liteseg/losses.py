"""Online hard example mining: only the pixels the network is least sure of count."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class OhemCrossEntropy(nn.Module):
    """Cross entropy over the hard pixels.

    A pixel is hard when the probability of its true class is below ``threshold``; at least ``min_kept`` pixels are
    kept. Sizes never depend on values, so nothing here waits for the device.
    """

    def __init__(self, min_kept: int, threshold: float = 0.7, ignore_index: int = 255) -> None:
        super().__init__()
        self.min_kept = min_kept
        self.threshold = threshold
        self.ignore_index = ignore_index

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        """logits (N, C, H, W), labels (N, H, W) of class ids -> scalar."""
        losses = F.cross_entropy(logits, labels, ignore_index=self.ignore_index, reduction="none")
        with torch.no_grad():
            valid = labels != self.ignore_index
            probability = torch.exp(-losses).masked_fill(~valid, 2.0).flatten()
            kth = torch.kthvalue(probability, min(self.min_kept, probability.numel())).values
            hard = (probability <= kth.clamp(min=self.threshold)).view_as(losses) & valid
        return (losses * hard).sum() / hard.sum().clamp(min=1)


class MultiHeadLoss(nn.Module):
    """The same loss on every head's output, weighted: the first is the main one, the rest are auxiliary."""

    def __init__(self, loss: nn.Module, weights: tuple[float, ...] = (1.0, 1.0, 1.0)) -> None:
        super().__init__()
        self.loss = loss
        self.weights = weights

    def forward(self, outputs: list[Tensor], labels: Tensor) -> Tensor:
        return sum(weight * self.loss(output, labels) for weight, output in zip(self.weights, outputs))
