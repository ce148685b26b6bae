"""cuDNN's recurrent layers through torch's CPU ones, and their gradient through autograd.

Dropout between layers draws from cuDNN's own sequence, which the CPU cannot repeat; it is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from vramfit.private import operators as of_operators
from vramfit.values.own_thread import run_in_own_thread

aten = torch.ops.aten

_RELU, _TANH, _LSTM, _GRU = range(4)  # cudnnRNNMode_t
_LAYERS = MappingProxyType({_RELU: aten.rnn_relu, _TANH: aten.rnn_tanh, _LSTM: aten.lstm, _GRU: aten.gru})


class _Layer(NamedTuple):
    """What the operator is told beside its tensors."""

    weight_stride: int  # tensors per layer and direction: 4 with biases, 2 without, one more with a projection
    mode: int
    proj_size: int
    num_layers: int
    batch_first: bool
    train: bool
    bidirectional: bool
    batch_sizes: list[int]

    def run(
        self, x: Tensor, weights: list[Tensor], hx: Tensor, cx: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """(output, hy, cy), cy only for an LSTM."""
        biases = self.weight_stride >= 4
        state: Any = [hx, cx] if self.mode == _LSTM else hx
        options = (biases, self.num_layers, 0.0, self.train, self.bidirectional)
        if self.batch_sizes:
            result = _LAYERS[self.mode].data(x, torch.tensor(self.batch_sizes), state, weights, *options)
        else:
            result = _LAYERS[self.mode].input(x, state, weights, *options, self.batch_first)
        return result if self.mode == _LSTM else (*result, None)


def _cudnn_rnn(
    x: Tensor, weights: list[Tensor], weight_stride: int, buffer: Tensor | None, hx: Tensor, cx: Tensor | None,
    mode: int, hidden_size: int, proj_size: int, num_layers: int, batch_first: bool, dropout: float, train: bool,
    bidirectional: bool, batch_sizes: list[int], dropout_state: Tensor | None,
) -> tuple[Any, ...]:  # fmt: skip
    layer = _Layer(weight_stride, mode, proj_size, num_layers, batch_first, train, bidirectional, batch_sizes)
    return (*layer.run(x, weights, hx, cx), None, None)


def _cudnn_rnn_backward(
    x: Tensor, weights: list[Tensor], weight_stride: int, buffer: Tensor, hx: Tensor, cx: Tensor | None, output: Tensor,
    to_output: Tensor | None, to_hy: Tensor | None, to_cy: Tensor | None, mode: int, hidden_size: int, proj_size: int,
    num_layers: int, batch_first: bool, dropout: float, train: bool, bidirectional: bool, batch_sizes: list[int],
    dropout_state: Tensor | None, reserve: Tensor, needed: list[bool],
) -> tuple[Any, ...]:  # fmt: skip
    layer = _Layer(weight_stride, mode, proj_size, num_layers, batch_first, True, bidirectional, batch_sizes)
    inputs = [x, hx, *([cx] if cx is not None else []), *weights]

    def differentiate() -> list[Tensor]:
        leaves = [tensor.detach().clone().requires_grad_() for tensor in inputs]
        rest = leaves[2:] if cx is None else leaves[3:]
        outputs = layer.run(leaves[0], rest, leaves[1], None if cx is None else leaves[2])
        pairs = [(o, g) for o, g in zip(outputs, (to_output, to_hy, to_cy)) if o is not None and g is not None]
        return list(torch.autograd.grad([o for o, _ in pairs], leaves, [g for _, g in pairs], materialize_grads=True))

    gradients = run_in_own_thread(differentiate)
    to_cx = None if cx is None else gradients[2]
    return gradients[0], gradients[1], to_cx, gradients[2 if cx is None else 3 :]


KERNELS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        of_operators.rnn.full_name: _cudnn_rnn,
        of_operators.rnn_backward.full_name: _cudnn_rnn_backward,
    }
)
