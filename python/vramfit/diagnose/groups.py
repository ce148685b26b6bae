"""Held tensors put together for a note: one entry for each holder and kind of tensor."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Hashable, Iterable
from typing import Any

from vramfit.contract import notes as said
from vramfit.diagnose import fillers, live_tensors
from vramfit.observe import holders, owners
from vramfit.observe.holders import chains

_INDEX = chains.INDEX
_MAX_SEARCHED = 24  # tensors whose holders are searched in one note
_MAX_LISTED = 12
_MOST_WALKED = 100_000  # objects below the containers that hold the tensors
_MOST_LEVELS = 6  # containers within containers
_ANY = -1  # no size of a tensor

_Entry = tuple[live_tensors.Signature, said.TensorGroup]


def describe(tensors: list[Any], hidden: Iterable[Any] = ()) -> list[said.TensorGroup]:
    """Entries for notes: the largest kinds of tensor first, each with the holder of one of them.

    Only one tensor of a kind (shape, type, operation) is traced at first; where kinds are few, more of each. What else
    the containers hold that these lie in is counted as theirs, whatever its kind.
    """
    kinds: dict[live_tensors.Signature, list[Any]] = {}
    for tensor in tensors:
        kinds.setdefault(live_tensors.signature_of(tensor), []).append(tensor)
    ordered = sorted(kinds.values(), key=lambda kind: -_bytes(kind))
    chosen = ordered[:_MAX_LISTED]
    share = max(1, _MAX_SEARCHED // max(1, len(chosen)))
    traced = [tensor for kind in chosen for tensor in kind[:share]]
    holder_of = holders.find(traced, [*hidden, tensors, ordered, chosen, *kinds.values(), *chosen])
    lying_in = _in_containers(holder_of)
    found = iter(holder_of)
    entries: list[_Entry] = []
    for kind in chosen:
        by_name: dict[str, tuple[holders.Holder, list[Any]]] = {}
        for tensor in kind[:share]:
            holder = next(found)
            if not holder.name:
                holder = lying_in.get(id(tensor), holder)
            by_name.setdefault(_key(holder), (holder, []))[1].append(tensor)
        rest = _given_to(by_name, kind[share:], lying_in)
        if rest and len(by_name) == 1 and len(rest) == len(kind[share:]):
            next(iter(by_name.values()))[1].extend(rest)  # nothing tells them apart
            rest = []
        entries += [_entry(holder, owned) for holder, owned in by_name.values()]
        if rest:
            entries.append(_entry(holders.Holder(), rest))
    for kind in ordered[_MAX_LISTED:]:
        by_name = {}
        _given_to(by_name, kind, lying_in)
        entries += [_entry(holder, owned) for holder, owned in by_name.values()]
    for holder in holder_of:
        holder.many = None
    return sorted(_joined(entries), key=lambda entry: -entry.bytes)


def _key(holder: holders.Holder) -> str:
    return _INDEX.sub("[]", holder.name) + holder.kind


def _in_containers(found: list[holders.Holder]) -> dict[int, holders.Holder]:
    """The holder of each tensor (by id) in the containers of those that were found; of two, that with its name."""
    by_name = {_INDEX.sub("[]", holder.name): holder for holder in reversed(found)}
    lying_in: dict[int, holders.Holder] = {}
    walked: set[int] = set()
    for holder in found:
        if holder.many is None or id(holder.many) in walked:
            continue
        level = [(_INDEX.sub("[]", holder.name_of_many), holder.many, None)]
        for _ in range(_MOST_LEVELS):
            below: list[tuple[str, Any, Any]] = []
            for name, value, above in level:
                if id(value) in walked or len(walked) > _MOST_WALKED:
                    continue
                walked.add(id(value))
                if live_tensors.is_tensor(value):
                    if name not in by_name:
                        by_name[name] = _beside(holder, name, above)
                    lying_in.setdefault(id(value), by_name[name])
                    continue
                below += [(name + _INDEX.sub("[]", step), each, value) for step, each in chains.steps_below(value)]
            level = below
    return lying_in


def _beside(holder: holders.Holder, name: str, above: Any) -> holders.Holder:
    """The holder of what nobody searched for, in a container that another holder's search led to."""
    name = name.replace("[]", "[0]")
    is_container = isinstance(above, (list, tuple, dict, set, deque))
    return dataclasses.replace(
        holder,
        name=name,
        container=type(above).__name__ if is_container else "",
        length=len(above) if is_container else -1,
        chain=[f"{holder.kind} {name}"],
        filled_at=[],
        many=None,
    )


def _given_to(
    by_name: dict[str, tuple[holders.Holder, list[Any]]], tensors: list[Any], lying_in: dict[int, holders.Holder]
) -> list[Any]:
    """Gives tensors to the holders of the containers that they lie in; returns those that lie in none."""
    left = []
    for tensor in tensors:
        holder = lying_in.get(id(tensor))
        if holder is None:
            left.append(tensor)
        else:
            by_name.setdefault(_key(holder), (holder, []))[1].append(tensor)
    return left


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
