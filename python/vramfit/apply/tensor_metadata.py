"""Tensors with a shape and no memory, and the questions that they answer by themselves."""

from __future__ import annotations

import torch

METADATA = frozenset(
    (
        torch.Tensor.size,
        torch.Tensor.dim,
        torch.Tensor.numel,
        torch.Tensor.element_size,
        torch.Tensor.is_floating_point,
        torch.Tensor.shape.__get__,
        torch.Tensor.ndim.__get__,
        torch.Tensor.dtype.__get__,
        torch.Tensor.device.__get__,
        torch.Tensor.is_cuda.__get__,
        torch.Tensor.layout.__get__,
        torch.Tensor.is_sparse.__get__,
    )
)
