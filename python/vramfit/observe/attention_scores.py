"""What attention keeps for backward: its scores, for plan/techniques/attention.

Read from autograd's graph when a backward pass begins: a softmax over products of queries and keys keeps scores, a
fused kernel none. Nothing that was saved is touched: it may lie on the host, or have to be computed again first.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

from vramfit.base import events, notes, process
from vramfit.contract import notes as said
from vramfit.observe import eager_models, scopes
from vramfit.private import torch as of_torch

_LEAST = 64  # queries and keys
_PASSES = 4  # backward passes that are looked at
_MOST_NODES = 200_000
_STEPS = 12  # from a softmax back to its product
# Nodes between the product and the softmax, as parts of their names in autograd.
_BETWEEN = ("Div", "Mul", "Add", "Sub", "MaskedFill", "Where", "View", "UnsafeView", "Reshape", "ToCopy", "Clone")
_SOFTMAXES = ("Softmax", "SafeSoftmax")
_PRODUCTS = ("Bmm", "Baddbmm", "Matmul")
_LAST = 2**64 - 1  # a dimension of -1, as nodes have it


class _State:
    def __init__(self) -> None:
        self.passes = 0
        self.noted_bytes = -1
        self.looked: set[int] = set()  # ids of roots
        self.eager = ""
        self.why_not = ""
        self.multihead = 0


_state = process.own(_State)


@notes.guarded("attention_scores")
def _enter(module: Any, args: Any, kwargs: Any) -> None:
    if id(module) in _state.looked or scopes.root_of(module) is None:
        return
    _state.looked.add(id(module))
    for model in eager_models.find_eager(module):
        _state.eager = type(model).__name__
        _state.why_not = _state.why_not or eager_models.why_not(model)
    kind = sys.modules["torch"].nn.MultiheadAttention
    _state.multihead += sum(isinstance(child, kind) for child in module.modules())


def _nodes_below(tensors: Any) -> Iterator[Any]:
    tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors]
    waiting = [tensor.grad_fn for tensor in tensors if getattr(tensor, "grad_fn", None) is not None]
    seen = set(waiting)
    while waiting and len(seen) < _MOST_NODES:
        node = waiting.pop()
        yield node
        for child, _ in node.next_functions:
            if child is not None and child not in seen:
                seen.add(child)
                waiting.append(child)


def _result_of(node: Any) -> tuple[tuple[int, ...], Any]:
    """The shape and the type of what its forward put out."""
    first = of_torch.input_metadata.of(node)[0]
    return tuple(int(length) for length in first.shape), first.dtype


def _begins(name: str, parts: tuple[str, ...]) -> bool:
    return name.startswith(tuple(f"{part}Backward" for part in parts))


def _is_of_scores(node: Any, shape: tuple[int, ...]) -> bool:
    """Whether its inputs are products of batches of matrices."""
    if len(shape) < 3 or min(shape[-2:]) < _LEAST or of_torch.saved_dim.of(node) not in (_LAST, len(shape) - 1):
        return False
    waiting = [child for child, _ in node.next_functions]
    for _ in range(_STEPS):
        if not waiting:
            return False
        child = waiting.pop()
        if child is None:
            continue
        if _begins(child.name(), _PRODUCTS):
            return True
        if _begins(child.name(), _BETWEEN):
            waiting += [further for further, _ in child.next_functions]
    return False


def _count(tensors: Any) -> said.AttentionKept:
    note = said.AttentionKept(
        scores=0, calls=0, of_sdpa=0, of_multihead=0, spared=0, eager=_state.eager, why_not=_state.why_not,
    )  # fmt: skip
    for node in _nodes_below(tensors):
        name = node.name()
        if name.startswith("ScaledDotProduct"):
            shape, dtype = _result_of(node)
            note.spared += math.prod(shape[:-1]) * shape[-2] * dtype.itemsize
        elif _begins(name, ("NativeDropout",)):
            softmax = node.next_functions[0][0]
            if softmax is not None and _begins(softmax.name(), _SOFTMAXES):
                _count_scores(softmax, note, is_dropout=True)
        elif _begins(name, _SOFTMAXES):
            _count_scores(node, note)
    return note


def _count_scores(softmax: Any, note: said.AttentionKept, is_dropout: bool = False) -> None:
    """What it keeps of them; `is_dropout`: what the dropout behind it does, its result and a byte for each."""
    shape, dtype = _result_of(softmax)
    if not _is_of_scores(softmax, shape):
        return
    size = math.prod(shape) * (dtype.itemsize + is_dropout)
    is_sdpa = softmax.name().startswith("Safe")
    note.calls += not is_dropout
    note.scores += size
    note.of_sdpa += size if is_sdpa else 0
    note.of_multihead += size if len(shape) == 3 and not is_sdpa and _state.multihead else 0


@notes.guarded("attention_scores.backward")
def _on_backward(tensors: Any) -> None:
    if _state.passes >= _PASSES:
        return
    _state.passes += 1
    note = _count(tensors)
    if note.scores + note.spared > max(0, _state.noted_bytes):
        _state.noted_bytes = note.scores + note.spared
        notes.note(note)


def install() -> None:
    events.root_enter.listen(_enter)
    events.backward_begin.listen(_on_backward)
