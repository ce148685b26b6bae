"""Cross entropy in chunks of rows: its log-softmax and that one's gradient never exist for all rows at once.

    whole     logits, log-softmax, its gradient, gradient of the logits      4 x rows x classes
    chunked   logits, gradient of the logits                                 2 x, and the same four of one chunk

    linear    the same without the logits: of one chunk alone          4 x of one chunk

With `linear`, the layer that makes the logits is part of the chunk, forwards and, once more, backwards
(deferred_logits.py). Rows know nothing of each other, so each term and each gradient comes out as in the whole; what
may differ is the order in which the terms are added up.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from vramfit import apply
from vramfit.apply import torch_script
from vramfit.apply.deferred_logits import Deferred, Layer, is_possible
from vramfit.base import process
from vramfit.contract import plans

ID = "chunked_loss"
_FLOAT32 = 4
_CHUNK_BYTES = 32 << 20  # of logits in float32
_LINEAR_CHUNK_BYTES = 128 << 20  # each chunk passes over the layer's weight, and over its gradient


class ChunkedLoss:
    KEEPS = process.ALL

    def __init__(self, options: plans.ChunkedLoss) -> None:
        self.classes = options.linear or 0  # of the last layer, which is worked out in the chunks too
        self.chunk_bytes = options.chunk_bytes or (_LINEAR_CHUNK_BYTES if self.classes else _CHUNK_BYTES)
        self.is_told = False

    def rows(self, logits: Any) -> int:
        """The entries of the first dimension that one chunk has."""
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
        if self.classes and torch_script.is_made() and not isinstance(logits, Deferred):
            apply.refused(ID, "TorchScript works out the last layer, so its logits are there as a whole")
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
    """The loss of each row of logits, worked out chunk by chunk, forwards and backwards."""

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


class _TermsOfLayer(torch.autograd.Function):
    """The loss of each row that a linear layer is given: its logits exist for one chunk at a time."""

    @staticmethod
    def forward(ctx: Any, hidden: Any, matrix: Any, bias: Any, target: Any, weight: Any, rows: int, how: Any) -> Any:
        ctx.save_for_backward(hidden, matrix, bias, target, weight)
        ctx.rows, ctx.how = rows, how
        return torch.cat([how(hidden[part], matrix, bias, target[part], weight) for part in _chunks(len(hidden), rows)])

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple[Any, ...]:
        hidden, matrix, bias, target, weight = ctx.saved_tensors
        wanted = [index for index in range(3) if ctx.needs_input_grad[index]]
        found: list[Any] = [None] * 7
        if torch.is_grad_enabled():  # a gradient of the gradient is wanted
            whole = ctx.how(hidden, matrix, bias, target, weight)
            given = [(hidden, matrix, bias)[index] for index in wanted]
            grad = inspect.unwrap(torch.autograd.grad)
            for index, one in zip(wanted, grad(whole, given, gradient, create_graph=True)):
                found[index] = one
            return tuple(found)
        for index in wanted:
            found[index] = torch.zeros_like((hidden, matrix, bias)[index])
        leaves = [None if one is None else one.detach() for one in (hidden, matrix, bias)]
        for part in _chunks(len(hidden), ctx.rows):
            given = [leaves[0][part], leaves[1], leaves[2]]
            for index in wanted:
                given[index] = given[index].detach().requires_grad_()
            with torch.enable_grad():
                terms = ctx.how(*given, target[part], weight)
            grad = inspect.unwrap(torch.autograd.grad)
            for index, one in zip(wanted, grad(terms, [given[index] for index in wanted], gradient[part])):
                if index == 0:
                    found[0][part] = one
                else:
                    found[index] += one
        return tuple(found)


def _divisor(target: Any, weight: Any, ignored: int) -> Any:
    """The number that a mean divides by: labels that count, or the sum of their weights."""
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

    if isinstance(logits, Deferred):
        terms = _terms_of_layer(logits, target, weight, rows, loss)
    else:
        terms = _Terms.apply(logits, target, weight, rows, loss)
    if reduction == "none":
        return terms
    return terms.sum() if reduction == "sum" else terms.sum() / _divisor(target, weight, ignored)


def _terms_of_layer(logits: Deferred, target: Any, weight: Any, rows: int, loss: Callable[..., Any]) -> Any:
    layer: Layer = logits.layer
    layer.require_unchanged()
    layer.is_in_a_loss = True
    dtype = logits.dtype

    def terms(hidden: Any, matrix: Any, bias: Any, labels: Any, weights: Any) -> Any:
        enabled, half = layer.autocast
        with torch.autocast("cuda", dtype=half, enabled=enabled, cache_enabled=False):
            return loss(layer.call(hidden, matrix, bias).to(dtype), labels, weights)

    hidden = layer.rows.reshape(-1, layer.rows.shape[-1])
    return _TermsOfLayer.apply(hidden, layer.weight, layer.bias, target, weight, rows, terms)


def _looked_at(logits: Any) -> Any:
    """The tensor itself, where it exists already or is not made of rows."""
    exists = isinstance(logits, Deferred) and (logits.layer.whole is not None or logits.dim() != 2)
    return logits.materialize() if exists else logits


def _defer_last_layer(technique: ChunkedLoss, functional: Any) -> None:
    linear = functional.linear

    @functools.wraps(linear)
    def deferring(input: Any, weight: Any, bias: Any = None) -> Any:  # `input`: as torch calls it
        is_last = weight.shape[0] == technique.classes and weight.dim() == 2 and type(input) is torch.Tensor
        if not is_last or not input.is_cuda or input.dim() < 2 or input.is_inference() or _is_traced():
            return linear(input, weight, bias)
        if torch_script.is_made():
            apply.refused(ID, "the script has TorchScript made, which would be given logits that are not there yet")
        layer = Layer(linear, input, weight, bias)
        return Deferred(layer, (*input.shape[:-1], weight.shape[0]), layer.type())

    functional.linear = deferring


def _take_log_probabilities(technique: ChunkedLoss, functional: Any) -> None:
    """The loss of deferred log-probabilities is the cross entropy of the logits that they come from."""
    original, cross_entropy = functional.nll_loss, functional.cross_entropy
    names = list(inspect.signature(original).parameters)

    @functools.wraps(original)
    def nll_loss(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args)), **kwargs}
        given["input"] = _looked_at(given["input"])
        if not isinstance(given["input"], Deferred) or not given["input"].is_log or not technique.suits(given):
            return original(*args, **kwargs)
        return _chunked(technique, inspect.unwrap(cross_entropy), given)

    functional.nll_loss = nll_loss


def install(torch_module: Any, options: plans.ChunkedLoss) -> None:
    technique = process.own(ChunkedLoss, options)
    functional = torch_module.nn.functional
    original = functional.cross_entropy
    names = list(inspect.signature(original).parameters)

    @functools.wraps(original)
    def cross_entropy(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args)), **kwargs}
        given["input"] = _looked_at(given["input"])
        if not technique.suits(given) or getattr(given["input"], "is_log", False):
            return original(*args, **kwargs)
        return _chunked(technique, original, given)

    functional.cross_entropy = cross_entropy
    torch_script.hide_from(torch_module, functional, "cross_entropy", "nll_loss", "linear")
    if not technique.classes:
        return
    if not is_possible():
        apply.refused(ID, "this PyTorch is too old to put off its last layer")
        return
    _defer_last_layer(technique, functional)
    _take_log_probabilities(technique, functional)
