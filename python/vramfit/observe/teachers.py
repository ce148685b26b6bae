"""The teacher of a distillation: a network that training steps call without gradients, and that nothing trains."""

from __future__ import annotations

from typing import Any

from vramfit.base import events, notes, process
from vramfit.contract import notes as said
from vramfit.observe import quiet_forwards, scopes


class _State:
    def __init__(self) -> None:
        self.waiting: dict[str, tuple[quiet_forwards.Batch, said.Teacher]] = {}  # by class, until a backward pass comes
        self.noted: set[str] = set()


_state = process.own(_State)


def _enter(torch: Any, module: Any) -> None:
    if module.training or torch.is_grad_enabled() or not quiet_forwards.known.optimizers:
        return
    name = type(scopes.unwrap(module)).__name__
    batch = quiet_forwards.current_batch()
    if batch is None or name in _state.noted or quiet_forwards.is_trained(module):
        return
    sizes = [(parameter.numel() * parameter.element_size(), parameter.dtype) for parameter in module.parameters()]
    if not sizes:
        return
    floats = sum(size for size, dtype in sizes if dtype == torch.float32)
    whole = sum(size for size, _ in sizes)
    _state.waiting[name] = (batch, said.Teacher(class_name=name, bytes=whole, is_float=2 * floats > whole))


def _on_backward(tensors: Any) -> None:
    """A backward pass on the batch that it was called with: what it put out is a part of a training step."""
    if not _state.waiting:
        return
    batch = quiet_forwards.current_batch()
    for name, (of, note) in _state.waiting.items():
        if of == batch:
            _state.noted.add(name)
            notes.note(note)
    _state.waiting.clear()


def install(torch: Any) -> None:
    events.root_enter.listen(lambda module, args, kwargs: _enter(torch, module))
    events.backward_begin.listen(_on_backward)
