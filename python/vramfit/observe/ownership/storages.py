"""Where tensors lie on a card. Those that are made of others (quantized, distributed, sparse) are taken apart."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from vramfit.private import torch as of_torch

_MAX_NESTING = 6
_LOCAL = of_torch.local_tensor.name  # of a DTensor


def parts(tensor: Any) -> list[Any]:
    """The plain tensors that `tensor` is made of: mostly just itself."""
    local = getattr(tensor, _LOCAL, None)
    if local is not None:
        return parts(local)
    flatten = getattr(tensor, "__tensor_flatten__", None)
    if flatten is None:
        if getattr(tensor, "is_sparse", False):
            return [of_torch.sparse_entries(tensor), of_torch.sparse_places(tensor)]
        return [tensor]
    names = flatten()[0]
    return [part for name in names for part in parts(getattr(tensor, name))]


def address_of(tensor: Any) -> int:
    """The address of a tensor's storage on a device; 0 for host tensors and those without one storage."""
    local = getattr(tensor, _LOCAL, None)
    if local is not None:
        tensor = local
    if not getattr(tensor, "is_cuda", False):
        return 0
    try:
        storage = tensor.untyped_storage()
        # A fake tensor says that it is on the card, and its storage is nowhere: it has no address to ask for.
        return int(storage.data_ptr()) if storage.device.type == "cuda" else 0
    except (
        RuntimeError,
        NotImplementedError,
        ValueError,
    ):  # sparse, wrapper subclasses, lazy modules that nobody called
        return 0


def addresses_of(tensor: Any) -> list[int]:
    return [address for part in parts(tensor) if (address := address_of(part))]


def bytes_of(tensor: Any) -> int:
    return sum(int(part.numel() * part.element_size()) for part in parts(tensor))


def state_of(tensor: Any) -> tuple[int, int]:
    """Changes when the tensor is written or replaced: where it lies, and its count of writes in place."""
    part = parts(tensor)[0]
    # Tensors of inference mode keep no count.
    return address_of(part), 0 if part.is_inference() else int(of_torch.writes.of(part, 0))


def is_quantized(tensor: Any) -> bool:
    """Whether its numbers are codes, which mean something only with scales beside them."""
    dtype = tensor.dtype
    if dtype.is_complex:
        return False
    return not dtype.is_floating_point or dtype.itemsize < 2


def is_tensor(value: Any) -> bool:
    """Goes by the class: to ask just any object for an attribute may import modules or load libraries."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor) and not is_shell(type(value))


def is_shell(kind: type) -> bool:
    """Tensors of ours that have no memory, and would come by some if they were asked (apply/deferred_logits.py)."""
    return getattr(kind, "IS_SHELL", False)


def within(value: Any, depth: int = 0) -> Iterator[Any]:
    """Tensors inside containers and objects that are no modules."""
    if is_tensor(value):
        yield value
    elif depth >= _MAX_NESTING or isinstance(value, (str, bytes, int, float, type, ModuleType)) or value is None:
        return
    elif isinstance(value, dict):
        for item in list(value.values()):
            yield from within(item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from within(item, depth + 1)
    elif not callable(value) and isinstance(attributes := getattr(value, "__dict__", None), dict):
        for item in list(attributes.values()):
            yield from within(item, depth + 1)
