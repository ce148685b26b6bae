"""Which modules a model has, and what their parameters, gradients and optimizer states take on the card."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from typing import Any

from vramfit.base import notes, process
from vramfit.contract import notes as said
from vramfit.observe import owners, scopes
from vramfit.private import torch as of_torch


class _State:
    def __init__(self) -> None:
        self.numbers: dict[int, tuple[weakref.ref[Any], int]] = {}  # by id of a root's inner module
        self.indices: dict[int, dict[int, int]] = {}  # the same -> id of a module -> its place in named_modules()
        self.parameters: dict[int, tuple[int, int]] = {}  # id of a parameter -> number of its root, index of its module


_state = process.own(_State)


def number_of(inner: Any, root: scopes.Root) -> int:
    """The number by which notes call this model; a new one is listed."""
    known = _state.numbers.get(id(inner))
    if known is not None and known[0]() is inner:
        return known[1]
    number = len(_state.numbers)
    _state.numbers[id(inner)] = (weakref.ref(inner), number)
    _note_modules(inner, root, number)
    return number


def indices_of(inner: Any) -> dict[int, int]:
    return _state.indices[id(inner)]


def _bytes(tensors: Iterable[Any]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in map(_local, tensors))


def _local(tensor: Any) -> Any:
    return of_torch.local_tensor.of(tensor, tensor)  # of a DTensor, what lies on this card


def _note_modules(inner: Any, root: scopes.Root, number: int) -> None:
    """Each parameter and buffer is its first module's."""
    seen: set[int] = set()
    rows = []
    indices = _state.indices[id(inner)] = {}
    for index, (name, module) in enumerate(inner.named_modules()):
        indices[id(module)] = index
        own = [p for p in module.parameters(recurse=False) if scopes.is_there(p) and id(p) not in seen]
        buffers = [b for b in module.buffers(recurse=False) if scopes.is_there(b) and id(b) not in seen]
        seen.update(map(id, own), map(id, buffers))
        _state.parameters.update({id(p): (number, index) for p in own})
        rows.append(
            said.ListedModule(
                name=name,
                class_name=type(module).__name__,
                parameters=sum(_local(p).numel() for p in own),
                parameter_bytes=_bytes(own),
                buffer_bytes=_bytes(buffers),
            )
        )
    notes.note(said.ModuleList(root=number, prefix=root.prefix, modules=rows))


def _note_sums(kind: type[said.ModuleGradients] | type[said.ModuleStates], sums: dict[tuple[int, int], int]) -> None:
    if sums:
        rows = [said.ModuleBytes(root=root, module=index, bytes=total) for (root, index), total in sums.items()]
        notes.note(kind(bytes=rows))


def note_gradients() -> None:
    """Just before an optimizer steps: all gradients are there."""
    sums: dict[tuple[int, int], int] = {}
    for reference, _ in _state.numbers.values():
        inner = reference()
        for parameter in inner.parameters() if inner is not None else ():
            place = _state.parameters.get(id(parameter))
            if place is not None and parameter.grad is not None and parameter.grad.is_cuda:
                sums[place] = sums.get(place, 0) + _bytes([parameter.grad])
    _note_sums(said.ModuleGradients, sums)


def note_states(optimizer: Any) -> None:
    """What an optimizer keeps for each parameter; flat ones (ZeRO, FSDP 1) belong to no module of ours."""
    tensor = sys.modules["torch"].Tensor
    sums: dict[tuple[int, int], int] = {}
    for parameter, state in optimizer.state.items():
        place = _state.parameters.get(id(parameter)) if isinstance(parameter, tensor) else None
        if place is not None:
            found = [t for _, t in owners.tensors_in(state) if t.is_cuda]
            sums[place] = sums.get(place, 0) + _bytes(found)
    _note_sums(said.ModuleStates, sums)
