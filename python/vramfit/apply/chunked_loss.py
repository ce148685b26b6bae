"""Cross entropy in chunks of rows: its log-softmax and that one's gradient never exist for all rows at once.

    whole     logits, log-softmax, its gradient, gradient of the logits      4 x rows x classes
    chunked   logits, gradient of the logits                                 2 x, and the same four of one chunk

Rows know nothing of each other, so each term and each gradient comes out as in the whole; what may differ is the order
in which the terms are added up.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from vramfit import apply
from vramfit.base import process

ID = "chunked_loss"
_FLOAT32 = 4
_CHUNK_BYTES = 32 << 20  # of logits in float32


class ChunkedLoss:
    KEEPS = process.ALL

    def __init__(self, options: dict[str, Any]) -> None:
        self.chunk_bytes = int(options.get("chunk_bytes", _CHUNK_BYTES))
        self.is_told = False

    def rows(self, logits: Any) -> int:
        """Of a chunk: entries of the first dimension."""
        a_row = logits.numel() // max(1, logits.shape[0]) * _FLOAT32
        return max(1, self.chunk_bytes // max(1, a_row))

    def suits(self, given: dict[str, Any]) -> bool:
        logits, target = given["input"], given["target"]
        if given.get("size_average") is not None or given.get("reduce") is not None or _is_traced():
            return False
        if logits.dim() < 2 or not logits.is_cuda or not logits.is_floating_point() or target.is_floating_point():
            return False
        return logits.shape[0] == target.shape[0] and logits.shape[0] > self.rows(logits)

    def tell(self, logits: Any, rows: int) -> None:
        if not self.is_told:
            self.is_told = True
            chunks = -(-logits.shape[0] // rows)
            apply.applied(ID, f"cross entropy over {logits.shape[1]} classes in {chunks} chunks")


def _is_traced() -> bool:
    compiler = getattr(torch, "compiler", None)
    return bool(compiler is not None and getattr(compiler, "is_compiling", bool)()) or torch.jit.is_tracing()


def _chunks(count: int, rows: int) -> Iterator[slice]:
    return (slice(start, min(start + rows, count)) for start in range(0, count, rows))


def _gradient(terms: Any, of: Any, gradient: Any, is_differentiable: bool = False) -> Any:
    """Torch's own autograd.grad: the hooks would take it for the script's."""
    grad = inspect.unwrap(torch.autograd.grad)
    return grad(terms, of, gradient, create_graph=is_differentiable)[0]


class _Terms(torch.autograd.Function):
    """The loss of each row, worked out chunk by chunk, forwards and backwards."""

    @staticmethod
    def forward(ctx: Any, logits: Any, target: Any, weight: Any, rows: int, loss: Callable[..., Any]) -> Any:
        ctx.save_for_backward(logits, target, weight)
        ctx.rows, ctx.loss = rows, loss
        terms = [loss(logits[part], target[part], weight) for part in _chunks(logits.shape[0], rows)]
        ctx.dtype = terms[0].dtype  # under autocast float32
        return torch.cat(terms)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple[Any, ...]:
        logits, target, weight = ctx.saved_tensors
        if torch.is_grad_enabled():  # a gradient of the gradient is wanted: the whole of it, as without a plan
            whole = ctx.loss(logits.to(ctx.dtype), target, weight)
            return _gradient(whole, logits, gradient, is_differentiable=True), None, None, None, None
        found = torch.empty_like(logits)
        for part in _chunks(logits.shape[0], ctx.rows):
            chunk = logits[part].detach().requires_grad_()
            with torch.enable_grad():
                terms = ctx.loss(chunk.to(ctx.dtype), target[part], weight)
            found[part] = _gradient(terms, chunk, gradient[part])
        return found, None, None, None, None


def _divisor(target: Any, weight: Any, ignored: int) -> Any:
    """What a mean divides by: labels that count, or the sum of their weights."""
    counts = target != ignored
    if weight is None:
        return counts.sum()
    return (weight[target.clamp(0, weight.numel() - 1)] * counts).sum()


def _chunked(technique: ChunkedLoss, original: Callable[..., Any], given: dict[str, Any]) -> Any:
    logits, target, weight = given["input"], given["target"], given.get("weight")
    ignored, reduction = given.get("ignore_index", -100), given.get("reduction", "mean")
    smoothing = given.get("label_smoothing", 0.0)
    rows = technique.rows(logits)
    technique.tell(logits, rows)

    def loss(some: Any, labels: Any, weights: Any) -> Any:
        return original(some, labels, weights, ignore_index=ignored, reduction="none", label_smoothing=smoothing)

    terms = _Terms.apply(logits, target, weight, rows, loss)
    if reduction == "none":
        return terms
    return terms.sum() if reduction == "sum" else terms.sum() / _divisor(target, weight, ignored)


def install(torch_module: Any, options: dict[str, Any]) -> None:
    technique = process.own(ChunkedLoss, options)
    functional = torch_module.nn.functional
    original = functional.cross_entropy
    names = list(inspect.signature(original).parameters)

    @functools.wraps(original)
    def cross_entropy(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args)), **kwargs}
        if not technique.suits(given):
            return original(*args, **kwargs)
        return _chunked(technique, original, given)

    functional.cross_entropy = cross_entropy
