"""Held tensors put together for a note: one entry for each holder and kind of tensor."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Hashable, Iterable
from typing import Any

from vramfit.contract import notes as said
from vramfit.diagnose import fillers, live_tensors
from vramfit.observe import holders, owners

_INDEX = re.compile(r"\[[^'\"\]]*\]")  # "kept[3]", "cache[(496, 22)]"; a key that is a word is a name
_MAX_SEARCHED = 24  # tensors whose holders are searched in one note
_MAX_LISTED = 12
_ANY = -1  # no size of a tensor

_Entry = tuple[live_tensors.Signature, said.TensorGroup]


def describe(tensors: list[Any], hidden: Iterable[Any] = ()) -> list[said.TensorGroup]:
    """Entries for notes: the largest kinds of tensor first, each with the holder of one of them.

    Only one tensor of a kind (shape, type, operation) is traced at first; where kinds are few, more of each.
    """
    kinds: dict[live_tensors.Signature, list[Any]] = {}
    for tensor in tensors:
        kinds.setdefault(live_tensors.signature_of(tensor), []).append(tensor)
    chosen = sorted(kinds.values(), key=lambda kind: -_bytes(kind))[:_MAX_LISTED]
    share = max(1, _MAX_SEARCHED // max(1, len(chosen)))
    traced = [tensor for kind in chosen for tensor in kind[:share]]
    found = iter(holders.find(traced, [*hidden, tensors, chosen, *kinds.values(), *chosen]))
    entries: list[_Entry] = []
    for kind in chosen:
        by_name: dict[str, tuple[holders.Holder, list[Any]]] = {}
        for tensor in kind[:share]:
            holder = next(found)
            by_name.setdefault(_INDEX.sub("[]", holder.name) + holder.kind, (holder, []))[1].append(tensor)
        rest = kind[share:]
        for holder, owned in by_name.values():
            entries.append(_entry(holder, owned + (rest if len(by_name) == 1 else [])))
        if rest and len(by_name) > 1:
            entries.append(_entry(holders.Holder(), rest))
    return sorted(_joined(entries), key=lambda entry: -entry.bytes)


def _joined(entries: list[_Entry]) -> list[said.TensorGroup]:
    """One entry for tensors of one holder that differ in their sizes alone; where they do, the sizes are "*"."""
    joined: dict[Hashable, _Entry] = {}
    for signature, entry in entries:
        name = _INDEX.sub("[]", entry.holder.name)
        key = (name, entry.holder.kind, signature.loose(), None if name else signature.shape)
        if key not in joined:
            joined[key] = (signature, entry)
            continue
        first, known = joined[key]
        same = [size if size == other else _ANY for size, other in zip(first.shape, signature.shape)]
        joined[key] = (dataclasses.replace(first, shape=tuple(same)), known)
        known.tensors += entry.tensors
        known.bytes += entry.bytes
    for signature, entry in joined.values():
        entry.shape = str(signature).replace(str(_ANY), "*")
    return [entry for _, entry in joined.values()]


def _bytes(tensors: list[Any]) -> int:
    return sum({owners.address_of(tensor): live_tensors.storage_bytes(tensor) for tensor in tensors}.values())


def _entry(holder: holders.Holder, tensors: list[Any]) -> _Entry:
    first = tensors[0]
    holder.filled_at = fillers.find(holder.name)
    signature = live_tensors.signature_of(first)
    return signature, said.TensorGroup(
        holder=holder.for_note(),
        address=owners.address_of(first),
        shape=str(signature),
        tensors=len(tensors),
        bytes=_bytes(tensors),
        has_graph=bool(signature.operation),
        operation=signature.operation,
    )
