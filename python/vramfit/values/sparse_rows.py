"""Sparse tensors of the virtual card: rows of a matrix and which they are, as gradients of embeddings come.

How many different rows there are is in the data. Where none is computed, all are taken to be different: the most that
a real card can need. With `--values cpu` they are brought together as there.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import torch

from vramfit.private import operators as of_operators
from vramfit.private import torch as of_torch
from vramfit.values.memory import is_plain, over_same_bytes
from vramfit.values.standing_in import keep_scriptable

Tensor = torch.Tensor
Put = Callable[[Tensor, Tensor], None]
# Operators whose result is a new sparse tensor.
_NEW = of_operators.names_of("clone add mul div neg") | {of_operators.joined_rows.full_name}


def parts_of(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """The places of a sparse tensor's entries, a column for each, and the entries."""
    return of_torch.sparse_places(tensor), of_torch.sparse_entries(tensor)


def made_of(places: Tensor, entries: Tensor, shape: Any, is_joined: bool) -> Tensor:
    return torch.sparse_coo_tensor(places, entries, shape, check_invariants=False, is_coalesced=is_joined)


def run(name: str, operator: Any, args: Any, kwargs: Any, put: Put) -> Any:
    """The operator's result with its values computed; NotImplemented for one that is not known here."""
    if name in _NEW and args[0].is_sparse:
        device = args[0].device
        return _on_card(operator(*map(_on_host, args), **kwargs), device, put)
    if name == "aten::add_" and is_plain(args[0]) and args[0].is_cuda:
        return _add(operator, args, kwargs, put)
    if name == "aten::sparse_mask" and is_plain(args[0]):
        return _select(operator, args, put)
    return NotImplemented


def _on_host(tensor: Any) -> Any:
    if not isinstance(tensor, Tensor) or not tensor.is_cuda:
        return tensor
    if not tensor.is_sparse:
        return over_same_bytes(tensor)
    places, entries = (over_same_bytes(part) for part in parts_of(tensor))
    return made_of(places, entries, tensor.shape, tensor.is_coalesced())


def _on_card(tensor: Tensor, device: torch.device, put: Put) -> Tensor:
    parts = [part.to(device) for part in parts_of(tensor)]
    for part, value in zip(parts, parts_of(tensor)):
        put(part, value)
    return made_of(parts[0], parts[1], tensor.shape, tensor.is_coalesced())


def _add(operator: Any, args: Any, kwargs: Any, put: Put) -> Tensor:
    result = operator(*args, **kwargs)
    places, entries = parts_of(_on_host(args[1]))
    seen = over_same_bytes(args[0]).clone()
    put(args[0], seen.index_put_(tuple(places), entries * kwargs.get("alpha", 1), accumulate=True))
    return result


def _select(operator: Any, args: Any, put: Put) -> Tensor:
    result = operator(*args)
    places, _ = parts_of(_on_host(args[1]))
    put(parts_of(result)[1], over_same_bytes(args[0])[tuple(places)])
    return result


# -- where values are not computed


def _all_different(original: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    @functools.wraps(original)
    def coalesce(self: Tensor) -> Tensor:
        is_computed = os.environ.get("VRAMFIT_VALUES") == "cpu"  # in a fork of a warm process
        if is_computed or self.layout != torch.sparse_coo or not self.is_cuda or self.is_coalesced():
            return original(self)
        original(self)  # for the memory that it takes on the way
        places, entries = (part.clone() for part in parts_of(self))
        return made_of(places, entries, self.shape, True)

    return coalesce


def install() -> None:
    if os.environ.get("VRAMFIT_REAL") != "1":
        original = torch.Tensor.coalesce
        torch.Tensor.coalesce = _all_different(original)
        keep_scriptable(original, torch.Tensor.coalesce)
