"""Attention that writes its N x N scores to memory: a softmax over a square, or SDPA without a fused kernel."""

from __future__ import annotations

import sys
from typing import Any

from vramfit.base import events, frames, notes, process, recorder
from vramfit.contract import notes as said
from vramfit.diagnose import live_tensors, patches

_MIN_LENGTH = 64
_MIN_BYTES = 1 << 20
_MAX_NOTES = 40
_WRITTEN = 0.9  # of the scores' bytes must appear for them to count as written


class _State:
    def __init__(self) -> None:
        self.calls: dict[tuple[str, str], int] = {}  # in this forward pass
        self.noted: dict[tuple[str, str], int] = {}


_state = process.own(_State)


def _note(operation: str, shape: list[int], dtype: str, size: int) -> None:
    line = frames.script_line(sys._getframe(3))
    key = (operation, line)
    _state.calls[key] = _state.calls.get(key, 0) + 1
    weight = size * _state.calls[key]
    if weight <= _state.noted.get(key, 0) * 1.02 or (key not in _state.noted and len(_state.noted) >= _MAX_NOTES):
        return
    _state.noted[key] = weight
    notes.note(
        said.AttentionScores(
            operation=operation,
            line=line,
            shape=f"{dtype} {shape}",
            length=shape[-1],
            bytes=size,
            calls=_state.calls[key],
        )
    )


def _after_softmax(_: Any, result: Any, scores: Any) -> None:
    if live_tensors.on_card(result) and result.dim() >= 3 and _is_square(result.shape[-2], result.shape[-1]):
        size = result.numel() * result.element_size()
        if size >= _MIN_BYTES:
            _note("softmax", list(result.shape), str(result.dtype).replace("torch.", ""), size)


def _is_square(rows: int, columns: int) -> bool:
    return int(columns) >= _MIN_LENGTH and int(rows) == int(columns)


def _after_attention(before: int, result: Any, query: Any) -> None:
    """SDPA: a fused kernel leaves little more than its result; scores that were written stay for backward."""
    if not live_tensors.on_card(query) or query.dim() < 3 or int(query.shape[-2]) < _MIN_LENGTH:
        return
    shape = [*query.shape[:-1], query.shape[-2]]  # as if keys were as many as queries: self-attention
    size = query.element_size()
    for length in shape:
        size *= int(length)
    written = recorder.allocated() - before - result.numel() * result.element_size()
    if size >= _MIN_BYTES and written >= size * _WRITTEN:
        _note("scaled_dot_product_attention", shape, str(query.dtype).replace("torch.", ""), size)


def _next_step(*_: Any) -> None:
    _state.calls.clear()


def install(torch: Any) -> None:
    functional = torch.nn.functional
    for place in (torch, torch.Tensor, functional):
        patches.watch(torch, place, "softmax", _after_softmax)
    patches.watch(torch, functional, "scaled_dot_product_attention", _after_attention, recorder.allocated)
    events.backward_begin.listen(_next_step)
    events.step_counted.listen(_next_step)
