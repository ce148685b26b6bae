"""Loops over loaders that accelerate prepared, whose batches come in parts.

DataLoaderShard fetches a batch ahead of the one that it hands on, to know which is the last:

    fetched       part 1   part 2   part 3   (end)
    handed on              part 1   part 2   part 3

so a part counts from when it is handed on, and the pass is over once the last one was worked on. Within accumulate(),
which counts batches, the parts of one but the last are batches after which no step is due (sync_gradients is False):
what the script does where it is True, it does once a batch.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, ModuleType
from typing import Any, Protocol

from vramfit.apply.split_sampler import Share
from vramfit.base import importing, notes, process
from vramfit.base.around import INSTEAD, around
from vramfit.observe.loaders import Pass
from vramfit.private import accelerate as of_accelerate

_ADJUST = "adjust_scheduler"  # a schedule counts a batch after which it is not stepped


class Technique(Protocol):
    share: Share | None

    def begin_part(self, this_pass: Pass, share: Share) -> None: ...

    def end_pass(self, this_pass: Pass) -> None: ...

    def step_put_off(self) -> None: ...

    def stop(self, text: str) -> None: ...


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.hands_on: CodeType | None = None  # of the function that fetches
        self.all: list[AccelerateBatches] = []


_state = process.own(_State)


class AccelerateBatches:
    """One technique's batches, which accelerate fetches before it hands them on."""

    def __init__(self, technique: Technique, is_open: Callable[[], bool]) -> None:
        self._technique = technique
        self._is_open = is_open
        self._fetched: dict[int, tuple[Pass, deque[Share]]] = {}  # by id of the loader
        self.counted = False  # accumulate() was called for the part before, or for this one

    def takes(self, this_pass: Pass, share: Share, driver: FrameType | None) -> bool:
        """A part was fetched. Whether it is to be handed on later."""
        if driver is None or _state.hands_on is None or driver.f_code is not _state.hands_on:
            return False
        known = self._fetched.get(id(this_pass.loader))
        if known is None or known[0] is not this_pass:
            known = self._fetched[id(this_pass.loader)] = (this_pass, deque())
        known[1].append(share)
        return True

    def has_more(self, this_pass: Pass) -> bool:
        """Parts of a pass that has come to its end."""
        known = self._fetched.get(id(this_pass.loader))
        return known is not None and known[0] is this_pass and bool(known[1])

    def handed_on(self, loader: Any) -> None:
        known = self._fetched.get(id(loader))
        if known is not None and known[1]:
            self._technique.begin_part(known[0], known[1].popleft())
            self.counted = False

    def forget(self, loader: Any, is_whole: bool) -> None:
        """The loop over it is over; `is_whole`: it was not left before."""
        known = self._fetched.pop(id(loader), None)
        if known is not None and is_whole:
            self._technique.end_pass(known[0])

    def puts_off(self) -> bool:
        """accumulate() is called. Whether more parts of its batch follow."""
        share = self._technique.share
        if not self._is_open() or share is None:
            return False
        self.counted = True
        if not share.is_last:
            self._technique.step_put_off()
        return not share.is_last

    def knows_no_state(self) -> None:
        """accumulate() is called, and nothing can tell it that parts of a batch are one batch."""
        if self._is_open() and self._technique.share is not None:
            self._technique.stop("accelerate keeps elsewhere after how many batches a step is due")

    def counts_batches(self, value: Any) -> bool:
        """Whether it is an Accelerator within whose accumulate() the loop works."""
        kinds = ((kind.__module__, kind.__name__) for kind in type(value).__mro__)
        return self.counted and (of_accelerate.ACCELERATOR, "Accelerator") in kinds

    def install(self) -> None:
        _state.all.append(self)
        if len(_state.all) == 1:
            importing.after_import(of_accelerate.LOADERS, _watch_loaders)
            importing.after_import(of_accelerate.ACCELERATOR, _watch_accumulation)


def _tell_each(what: Callable[..., None], *args: Any) -> None:
    """Guarded here: a frame of another module would be taken for whoever draws the batches (drivers.driver_of)."""
    try:
        for one in _state.all:
            what(one, *args)
    except Exception as error:
        notes.hook_failed(f"accelerate_batches.{what.__name__}", error)


def _watch_loaders(_: ModuleType) -> None:
    original = of_accelerate.hand_on.get()
    if original is None:
        return
    _state.hands_on = original.__code__

    @functools.wraps(original)
    def hand_on(self: Any) -> Iterator[Any]:
        loader = getattr(self, of_accelerate.loader_of_shard, None)
        is_whole = False
        try:
            for batch in original(self):
                _tell_each(AccelerateBatches.handed_on, loader)
                yield batch
            is_whole = True
        finally:
            _tell_each(AccelerateBatches.forget, loader, is_whole)

    of_accelerate.hand_on.replace(hand_on)


def _watch_accumulation(_: ModuleType) -> None:
    original = of_accelerate.begin_batch.get()
    if original is None or of_accelerate.settings.is_gone():
        return

    def begin_batch(accelerator: Any) -> Iterator[Any]:
        state = of_accelerate.gradient_state.of(accelerator)
        settings = of_accelerate.settings.of(state)
        if settings is None:
            for one in _state.all:
                one.knows_no_state()
            return
        if any([one.puts_off() for one in _state.all]):
            of_accelerate.put_off_step(state, False)
            vars(accelerator).setdefault("_vramfit_adjusts", settings.get(_ADJUST))
            settings[_ADJUST] = False
            yield INSTEAD
        elif "_vramfit_adjusts" in vars(accelerator):
            adjusts = vars(accelerator).pop("_vramfit_adjusts")
            settings.pop(_ADJUST) if adjusts is None else settings.update({_ADJUST: adjusts})

    of_accelerate.begin_batch.replace(around("accelerate_batches.begin", original, begin_batch))
