"""Which process and which thread this is: a loader's worker, its pin thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from vramfit.base import notes
from vramfit.base.around import around
from vramfit.contract import notes as said
from vramfit.private import loaders as of_loaders
from vramfit.private import torch as of_torch


def _worker_loop(*_: Any, **__: Any) -> Iterator[Any]:
    notes.note(said.Role(role="worker"))
    yield


def _pin_loop(*_: Any, **__: Any) -> Iterator[Any]:
    notes.note(said.Thread(role="pin", thread=threading.get_native_id()))
    yield


@notes.guarded("processes.rank")
def _note_rank() -> None:
    """When the card is first touched: by then a launcher's child knows which rank it is."""
    rank, local_rank, world_size = (notes.number(name, -1) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
    if rank >= 0:
        notes.note(said.Rank(rank=rank, local_rank=local_rank, world_size=max(1, world_size)))


def install(torch: Any) -> None:
    of_torch.lazy_call(_note_rank)
    for name, hook in ((of_loaders.worker_loop, _worker_loop), (of_loaders.pin_loop, _pin_loop)):
        if not name.is_gone():
            name.replace(around("processes.loop", name.get(), hook))
