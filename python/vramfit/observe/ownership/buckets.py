"""DistributedDataParallel's buckets: a second copy of the gradients, made by its C++ reducer.

It makes them when a model is wrapped, and once more, in the order in which gradients came, before the forward after the
first backward: within a forward they would count as activations of the model. No Python object holds them, so they are
told by what the allocator has more of afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from vramfit.base import notes, process, recorder
from vramfit.base.around import around
from vramfit.observe.collectives import STEPS
from vramfit.private import torch as of_torch

NAME = "buckets of DistributedDataParallel"


def _blocks(torch: ModuleType) -> set[int]:
    """The addresses at which the allocator's blocks in use begin."""
    if not torch.cuda.is_initialized():
        return set()
    return {
        block["address"]
        for segment in torch.cuda.memory_snapshot()
        for block in segment["blocks"]
        if block["state"] == "active_allocated"
    }


@notes.guarded("buckets")
def _tell(addresses: set[int]) -> None:
    name = recorder.intern(NAME)
    for address in addresses:
        recorder.tag(address, recorder.GRADIENT, name)


class _Buckets:
    """The buckets of one reducer, where they began when they were last looked for."""

    def __init__(self) -> None:
        self.looks = 0
        self.addresses: set[int] = set()

    def look(self, before: set[int], after: set[int]) -> None:
        # New buckets may lie where the first ones did, which are let go before.
        self.addresses = (after - before) | (after & self.addresses)
        self.looks += 1
        _tell(self.addresses)


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.of_reducers: dict[int, _Buckets] = {}  # by id()


_state = process.own(_State)


def install(torch: ModuleType) -> None:
    if not torch.distributed.is_available():
        return
    wrapping, rebuilding = of_torch.set_up_ddp.get(), of_torch.rebuild_buckets.get()

    def wrap(model: Any, *_: Any, **__: Any) -> Iterator[None]:
        before = _blocks(torch)
        yield
        reducer = of_torch.reducer.of(model)
        if reducer is not None:
            buckets = _state.of_reducers[id(reducer)] = _Buckets()
            buckets.look(before, _blocks(torch))

    def rebuild(reducer: Any) -> Iterator[None]:
        """Called before every forward; it rebuilds them once."""
        buckets = _state.of_reducers.setdefault(id(reducer), _Buckets())
        if buckets.looks <= STEPS:
            before = _blocks(torch)
            yield
            buckets.look(before, _blocks(torch))

    of_torch.set_up_ddp.replace(around("buckets", wrapping, wrap))
    of_torch.rebuild_buckets.replace(around("buckets", rebuilding, rebuild))
