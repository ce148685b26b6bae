"""Checkpoints that torch.load puts on a card, and whether they stay there."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from typing import Any

from vramfit.base import events, frames, notes, process
from vramfit.base.around import around
from vramfit.contract import notes as said
from vramfit.diagnose import live_tensors
from vramfit.observe import holders, owners
from vramfit.private import torch as of_torch

_MIN_BYTES = 1 << 20
_MAX_LOADS = 20
_MAX_TENSORS = 5000


class _State:
    def __init__(self) -> None:
        self.loads: list[tuple[said.CheckpointLoad, list[tuple[Any, Any, int]]]] = []  # [(storage, tensor, bytes)]
        self.count = 0


_state = process.own(_State)


def _loaded(line: str, path: str, map_location: str, result: Any) -> None:
    storages = {}
    for _, tensor in owners.tensors_in(result)[:_MAX_TENSORS]:
        address = owners.address_of(tensor)
        if address:
            size = live_tensors.storage_bytes(tensor)
            storages[address] = (of_torch.storage_reference(tensor.untyped_storage()), weakref.ref(tensor), size)
    load = said.CheckpointLoad(
        line=line,
        path=path,
        map_location=map_location,
        on_card_bytes=sum(size for _, _, size in storages.values()),
        kept_bytes=0,
        final=False,
    )
    if load.on_card_bytes >= _MIN_BYTES and _state.count < _MAX_LOADS:
        _state.count += 1
        _state.loads.append((load, list(storages.values())))
        notes.note(load)


def look(*_: Any) -> None:
    """Tells after the first step what of the loaded tensors still lives, other than as weights."""
    load: said.CheckpointLoad
    for load, storages in _state.loads:
        known = live_tensors.known_storages()
        kept = [(tensor(), size) for storage, tensor, size in storages if not of_torch.has_expired(storage)]
        extra = [(tensor, size) for tensor, size in kept if tensor is None or owners.address_of(tensor) not in known]
        named = [tensor for tensor, _ in extra if tensor is not None][:1]
        holder = holders.find(named, [kept, extra])[0] if named else holders.Holder()
        load.kept_bytes = sum(size for _, size in extra)
        load.holder = holder.for_note()
        load.final = True
        notes.note(load)
    _state.loads.clear()


def install(torch: Any) -> None:
    def load(f: Any, map_location: Any = None, *_: Any, **__: Any) -> Iterator[Any]:  # `f`: as torch calls it
        result = yield
        line = frames.script_line(sys._getframe(1))
        path = str(f) if isinstance(f, str) or hasattr(f, "__fspath__") else ""
        _loaded(line, path, "function" if callable(map_location) else str(map_location), result)

    torch.load = torch.serialization.load = around("checkpoints.load", torch.load, load)
    events.step_counted.listen(look)
