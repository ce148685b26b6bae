"""Weights of jobs that only evaluate in 4 bits, two to a byte, with a scale for each group of 64 numbers of a row.

All else is as with 8 bits (int8_weights.py): a layer's weight is made again when it is asked for, one at a time.
"""

from __future__ import annotations

from typing import Any

from vramfit.apply.int8_weights import Int8Weights, put_in_place
from vramfit.base import process
from vramfit.contract import plans

ID = "int4_weights"
_LARGEST = 7
_ZERO = 8  # what is stored is from 1 to 15
_SMALLEST = 1e-12  # of a scale: groups of zeros
_GROUPS = (64, 32, 16, 8)


class Int4Weights(Int8Weights):
    KEEPS = process.ALL
    id = ID
    bits = 4

    def _weight_of(self, layer: Any) -> tuple[str, Any]:
        name, weight = super()._weight_of(layer)
        return (name, weight) if weight is not None and can_quantize(weight) else ("", None)

    def _quantize(self, weight: Any, device: Any) -> tuple[Any, Any]:
        codes, scale = quantize(weight.detach() if device is None else weight.detach().to(device))
        parameter = self._torch.nn.Parameter
        return parameter(codes, requires_grad=False), parameter(scale, requires_grad=False)

    @staticmethod
    def make(integers: Any, scale: Any) -> Any:
        return make(integers, scale)


def quantize(values: Any) -> tuple[Any, Any]:
    """Codes, two to a byte (rows x half of a row), and scales (rows x groups) of the values' own type."""
    rows = values.reshape(values.shape[0], -1)
    grouped = rows.reshape(rows.shape[0], -1, _group_in(rows.shape[1]))
    scale = (grouped.abs().amax(dim=2, keepdim=True) / _LARGEST).clamp_(min=_SMALLEST)
    codes = (grouped / scale).round_().clamp_(-_LARGEST, _LARGEST).add_(_ZERO).byte()
    pairs = codes.reshape(rows.shape[0], -1, 2)
    return pairs[..., 0] + pairs[..., 1] * 16, scale.squeeze(2)


def make(integers: Any, scale: Any) -> Any:
    """Numbers again (rows x a row), of the scales' type; of a weight or of some of its rows."""
    numbers = scale.new_empty((*integers.shape, 2))
    numbers[..., 0] = integers.bitwise_and(15)
    numbers[..., 1] = integers >> 4
    grouped = numbers.view(*scale.shape, -1)
    grouped.sub_(_ZERO).mul_(scale.unsqueeze(-1))
    return numbers.flatten(-2)


def can_quantize(weight: Any) -> bool:
    return _group_in(weight[0].numel()) != 0


def _group_in(numbers: int) -> int:
    """The largest group that divides a row; 0 where none does."""
    return next((size for size in _GROUPS if numbers % size == 0), 0)


def install(torch: Any, options: plans.Int4Weights) -> None:
    put_in_place(torch, process.own(Int4Weights, torch))
