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
from torch import Tensor

from vramfit.contract import asked
from vramfit.private import torch as of_torch
from vramfit.values.memory import is_plain, over_same_bytes, written_by
from vramfit.values.operator_facts import OperatorFacts
from vramfit.values.standing_in import keep_scriptable

Put = Callable[[Tensor, Tensor], None]


def parts_of(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """The places of a sparse tensor's entries, a column for each, and the entries."""
    return of_torch.sparse_places(tensor), of_torch.sparse_entries(tensor)


def made_of(places: Tensor, entries: Tensor, shape: Any, is_joined: bool) -> Tensor:
    return torch.sparse_coo_tensor(places, entries, shape, check_invariants=False, is_coalesced=is_joined)


def run(facts: OperatorFacts, args: Any, kwargs: Any, put: Put) -> Any:
    """Works it out on the host from what the tensors hold, and brings results and what it wrote to the card.
    NotImplemented where a tensor is of another kind (CSR, quantised), or the host has no such operator."""
    leaves, shape = of_torch.flatten_tree((args, kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    if not all(is_plain(each) or is_rows(each) for each in tensors):
        return NotImplemented
    written = written_by(facts, args, kwargs)
    hosts = {id(each): _on_host(each) for each in tensors}
    hosts.update({id(each): hosts[id(each)].clone() for each in written})
    asked = [leaf for leaf in leaves if isinstance(leaf, torch.device)]
    device = asked[0] if asked else next(each.device for each in tensors if each.is_cuda)
    own = [torch.device("cpu") if isinstance(leaf, torch.device) else hosts.get(id(leaf), leaf) for leaf in leaves]
    host_args, host_kwargs = of_torch.unflatten_tree(own, shape)
    try:
        results = facts.overload(*host_args, **host_kwargs)
    except (RuntimeError, TypeError):
        return NotImplemented
    for each in written:
        write(each, hosts[id(each)], put)
    given = {id(hosts[id(each)]): each for each in tensors}

    def place(value: Any) -> Any:
        if not isinstance(value, Tensor) or id(value) in given:
            return given.get(id(value), value)
        return value if device.type == "cpu" else _on_card(value, device, put)

    return of_torch.map_tree(place, results)


def is_rows(tensor: Tensor) -> bool:
    return tensor.layout == torch.sparse_coo and type(tensor) is Tensor


def _on_host(tensor: Tensor) -> Tensor:
    if not tensor.is_cuda:
        return tensor
    if not tensor.is_sparse:
        return over_same_bytes(tensor)
    places, entries = (over_same_bytes(part) for part in parts_of(tensor))
    return made_of(places, entries, tensor.shape, tensor.is_coalesced())


def _on_card(tensor: Tensor, device: Any, put: Put) -> Tensor:
    if not tensor.is_sparse:
        card = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)
        put(card, tensor)
        return card
    parts = [part.to(device) for part in parts_of(tensor)]
    for part, value in zip(parts, parts_of(tensor)):
        put(part, value)
    return made_of(parts[0], parts[1], tensor.shape, tensor.is_coalesced())


def write(target: Tensor, value: Tensor, put: Put) -> None:
    """Other rows may be there than before: a sparse tensor takes over both of its parts."""
    if not target.is_cuda:
        target.copy_(value)
    elif not target.is_sparse:
        put(target, value)
    else:
        target.copy_(_on_card(value, target.device, put))
        for part, held in zip(parts_of(target), parts_of(value)):
            put(part, held)


# -- where values are not computed


def _all_different(original: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    @functools.wraps(original)
    def coalesce(self: Tensor) -> Tensor:
        is_computed = os.environ.get("VRAMFIT_VALUES") == asked.VALUES_CPU  # in a fork of a warm process
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
