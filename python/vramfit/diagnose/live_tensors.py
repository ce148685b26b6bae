"""The tensors on cards that Python objects stand for, each storage once."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from vramfit.base import process
from vramfit.observe import owners, scopes
from vramfit.observe.ownership import storages
from vramfit.private import torch as of_torch


@dataclass(frozen=True)
class LooseSignature:
    """The same whatever the sizes."""

    dimensions: int
    dtype: str
    operation: str


@dataclass(frozen=True)
class Signature:
    """What tells one kind of tensor from another where nothing is known of its values."""

    shape: tuple[int, ...]
    dtype: str
    operation: str  # the grad_fn's name; empty: no graph

    def loose(self) -> LooseSignature:
        return LooseSignature(len(self.shape), self.dtype, self.operation)

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}"


def is_tensor(value: Any) -> bool:
    kind: Any = type(value)
    return _is_tensor_type(kind)


@process.cached()
def _is_tensor_type(kind: Any) -> bool:
    torch = sys.modules["torch"]
    has_memory = not issubclass(kind, of_torch.lazy_tensor.get())  # a lazy module's has none until it is called
    return torch.Tensor in kind.__mro__ and has_memory and not storages.is_shell(kind)


def on_card(value: Any) -> bool:
    return is_tensor(value) and bool(value.is_cuda)


def signature_of(tensor: Any) -> Signature:
    operation = type(tensor.grad_fn).__name__ if tensor.grad_fn is not None else ""
    return Signature(tuple(tensor.shape), str(tensor.dtype).replace("torch.", ""), operation)


def storage_bytes(tensor: Any) -> int:
    try:
        return int(tensor.untyped_storage().nbytes())
    except (RuntimeError, NotImplementedError):
        return int(tensor.numel() * tensor.element_size())


def find_all() -> list[Any]:
    """Every tensor on a card that Python's collector knows. Some 30 ms among half a million objects."""
    return [value for value in gc.get_objects() if on_card(value)]


def known_storages() -> set[int]:
    """The storages of weights, buffers, gradients and optimizer states: what a job is meant to hold."""
    found: set[int] = set()
    for _, module in scopes.live_roots():
        for tensor in (*module.parameters(), *module.buffers()):
            found.add(owners.address_of(tensor))
            if tensor.grad is not None:
                found.add(owners.address_of(tensor.grad))
    for optimizer in owners.live_optimizers():
        found.update(owners.address_of(tensor) for _, tensor in owners.state_tensors(optimizer))
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                found.add(owners.address_of(parameter))
                if parameter.grad is not None:
                    found.add(owners.address_of(parameter.grad))
    return found


def without(tensors: Iterable[Any], storages: set[int]) -> Iterator[Any]:
    """Those with a storage of their own that is not among `storages`."""
    for tensor in tensors:
        address = owners.address_of(tensor)
        if address and address not in storages:
            yield tensor
