"""Passes over torch DataLoaders: numbered, announced, and cut short at their source.

A pass is cut where its batches are drawn (the batch sampler), so that worker processes never read ahead of it, and not
by abandoning the iterator: the loop ends as it would at the end of the data. len() stays what it was.

Where the script has to see as many batches as there are (it counts samples, or memory grows with each), the pass goes
on past its cut with its last batch again and again (`Pass.repeat_to`): that costs no reading of data.
"""

from __future__ import annotations

import dis
import inspect
import os
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

from vramfit.base import events, notes, process
from vramfit.base.stop import RunComplete
from vramfit.observe import repeat
from vramfit.private import loaders as of_loaders

# Attributes under which a loader keeps our sampler in place of its own; the first that exists is used.
OTHER_SAMPLERS = ("_vramfit_split", "_vramfit_regrouped", "_vramfit_few")


class Pass:
    """One iteration over a loader."""

    def __init__(self, loader: Any, ordinal: int, number: int) -> None:
        self.loader = loader
        self.ordinal = ordinal  # of the loader, by the order in which loaders were first iterated
        self.number = number  # of this pass over it, from 1
        self.wanted: int | None = None  # batches; None = all
        self.endless = False  # the loader restarts one iterator for ever: it must not be cut
        self.by_hand = False  # drawn from with next(), by code that does not expect an end: it must not be cut either
        self.delivered = 0
        self.repeat_to = 0  # batches: past `wanted`, the last one is repeated up to here
        self.last_batch: Any = None  # kept while it may be repeated
        self.ahead = 0  # batches that wait on the card for the loop (run_ahead)
        self.filled = 0  # `delivered` when that many last were there
        self.stand_in: Any = None  # given in place of every batch of this pass, which then reads no data
        self.iterator: weakref.ref[Any] | None = None  # what the script holds; gone = the script has left the pass
        self.began = time.monotonic()
        self.reading_seconds = 0.0  # the loop waited for batches
        self.spared = 0  # batches given again instead of reading more
        self.in_full = False  # it is part of a run that goes on in full
        self.all_alike = False  # the data was looked at, and all of it is of one size (looking_ahead)
        self.trained = False  # a backward pass ran in it
        self.steps = 0  # optimizer steps in it
        # Whether the part last drawn (delivered) was the last of its batch (apply/micro_batch): no cut in between.
        self.drawn_whole = self.delivered_whole = True

    def is_cut_here(self) -> bool:
        """It has delivered what is wanted of it, and no part of a batch is missing."""
        return self.wanted is not None and self.delivered >= self.wanted and self.delivered_whole


class Listeners(list[Callable[..., Any]]):
    KEEPS = process.ALL  # a forked child has the same hooks


# Called with a Pass before its iterator is made, and before each batch: they set `wanted`, or raise RunComplete.
before_pass = process.own(Listeners)
before_batch = process.own(Listeners)
after_pass = process.own(Listeners)
# Called with a batch that was read, before anything is done to it.
batch_read = process.own(Listeners)
# Called in place of reading a batch: None, or one that was read before (alike).
instead = process.own(Listeners)
# Called with a batch, they return another of the loader's data, before anything is done to it (looking_ahead).
exchanges = process.own(Listeners)
# Called with a batch, they return the one the script gets (apply/resize_input).
transforms = process.own(Listeners)


class _State:
    KEEPS = ("parents", "base_loader")

    def __init__(self) -> None:
        self.ordinals: dict[tuple[Any, ...], tuple[int, weakref.ref[Any]]] = {}
        self.counts: dict[int, int] = {}  # passes over each loader
        self.current: list[Pass] = []
        self.parents: list[Pass] = []  # a forked child may not let go of their batches, which may be pinned
        self.base_loader: Any = None  # torch.utils.data.DataLoader

    def in_child(self) -> None:
        self.parents.extend(self.current)


_state = process.own(_State)


def open_passes() -> list[Pass]:
    """Those that have not come to their end, in the order in which they were begun."""
    return list(_state.current)


class _CutSampler:
    """A batch sampler that yields as many batches as the pass wants, however far that is raised meanwhile."""

    def __init__(self, own: Any, this_pass: Pass) -> None:
        self._own = own
        self.this_pass = this_pass

    def __iter__(self) -> Iterator[Any]:
        return _CutDraws(iter(self._own), self.this_pass)

    def __len__(self) -> int:
        return len(self._own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


class _CutDraws:
    """An iterator, not a generator: a draw after the end works again once more is wanted."""

    def __init__(self, own: Iterator[Any], this_pass: Pass) -> None:
        self._own = own
        self.this_pass = this_pass
        self._drawn = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        wanted = self.this_pass.wanted
        if wanted is not None and self._drawn >= wanted and self.this_pass.drawn_whole:
            raise StopIteration
        self._drawn += 1
        return next(self._own)


class _PassIterator:
    """What a script gets from iter(loader): the loader's own iterator, announced and counted.

    A pass that reads no data opens the loader's own (and its workers) only for who asks for what is in it."""

    def __init__(self, open_own: Callable[[], Any], this_pass: Pass) -> None:
        self._open_own = open_own
        self._opened = None if this_pass.stand_in is not None else open_own()
        self._pass = this_pass

    def _own(self) -> Any:
        if self._opened is None:
            self._opened = self._open_own()
        return self._opened

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self._pass.loader if self._opened is None else self._opened)

    def __getattr__(self, name: str) -> Any:
        if name in ("_open_own", "_opened", "_pass"):
            raise AttributeError(name)
        return getattr(self._own(), name)

    def __next__(self) -> Any:
        this_pass = self._pass
        _tell(before_batch, this_pass)
        if this_pass.is_cut_here() and _is_by_hand(sys._getframe(1)):
            this_pass.by_hand, this_pass.wanted = True, None
        if this_pass.is_cut_here():
            if this_pass.delivered >= this_pass.repeat_to or this_pass.last_batch is None:
                _end(this_pass)
                raise StopIteration
            batch = repeat.again(this_pass.loader, this_pass.last_batch, this_pass.delivered)
        elif this_pass.stand_in is not None:
            if this_pass.delivered >= (length_of(this_pass.loader) or 0):
                _end(this_pass)
                raise StopIteration
            batch = repeat.views_of(this_pass.stand_in)
            this_pass.last_batch = repeat.views_of(this_pass.stand_in)
        else:
            batch = self._spared(this_pass)
            if batch is None:
                batch = self._read(this_pass)
        this_pass.delivered += 1
        for transform in (*exchanges, *transforms):
            batch = _transformed(transform, this_pass, batch)
        events.batch(this_pass, batch)
        return batch

    def _spared(self, this_pass: Pass) -> Any:
        """A batch without reading; None to read one. A pass that spared some is longer than what it reads."""
        if this_pass.spared and this_pass.delivered >= (length_of(this_pass.loader) or 0):
            _end(this_pass)
            raise StopIteration
        for give in instead:
            batch = give(this_pass)
            if batch is not None:
                this_pass.spared += 1
                return batch
        return None

    def _read(self, this_pass: Pass) -> Any:
        before = time.monotonic()
        try:
            batch = next(self._own())
        except StopIteration:
            _end(this_pass)
            raise
        finally:
            this_pass.reading_seconds += time.monotonic() - before
        _tell(batch_read, this_pass, batch)
        if this_pass.wanted is not None and this_pass.delivered + 1 >= this_pass.wanted:
            this_pass.last_batch = repeat.containers_of(batch)
        return batch


def _transformed(transform: Callable[[Pass, Any], Any], this_pass: Pass, batch: Any) -> Any:
    try:
        return transform(this_pass, batch)
    except Exception as error:
        notes.hook_failed(f"loaders: {type(transform).__qualname__}", error)
        return batch


def innermost() -> Pass | None:
    """The pass the script is in: the last one begun whose iterator it still holds."""
    for this_pass in reversed(_state.current):
        if this_pass.iterator is not None and this_pass.iterator() is not None:
            return this_pass
    return None


def was_begun(ordinal: int) -> bool:
    """Whether a pass over this loader was ever begun."""
    return ordinal in _state.counts


def spelled_begun() -> str:
    """Those over which a pass was ever begun: "data loaders 0, 1"."""
    known = sorted(_state.counts)
    return f"data loader{'s' * (len(known) != 1)} {', '.join(map(str, known))}" if known else "no data loader"


def _end(this_pass: Pass) -> None:
    this_pass.last_batch = None
    if this_pass in _state.current:
        _state.current.remove(this_pass)
        _tell(after_pass, this_pass)


def _tell(listeners: list[Callable[..., None]], this_pass: Pass, *more: Any) -> None:
    for listener in listeners:
        try:
            listener(this_pass, *more)
        except RunComplete:
            raise
        except Exception as error:
            notes.hook_failed(f"loaders: {listener.__module__}.{listener.__qualname__}", error)


def is_split(loader: Any) -> bool:
    """Whether its batches are not the script's own (apply/micro_batch, apply/batch_size): none may be given in place of
    another."""
    return any(name in loader.__dict__ for name in OTHER_SAMPLERS)


def length_of(value: Any) -> int | None:
    """The length of a loader, a sampler, a data set; None where it has none. The length of a loader whose batches are
    given in parts counts the parts."""
    try:
        split = getattr(value, "__dict__", {}).get("_vramfit_split")
        return len(value) if split is None else int(split.count_parts())
    except (TypeError, NotImplementedError, AttributeError):
        return None


def _ordinal_of(loader: Any) -> int:
    """The order of first iteration. A loader made anew over the same data takes the place of the one that is gone."""
    own = loader.__dict__.get("_vramfit_ordinal")
    if own is not None and own[1] == os.getpid():
        return int(own[0])
    sampler = type(getattr(loader, "sampler", None)).__name__
    batches = (getattr(loader, "batch_size", None), getattr(loader, "drop_last", None))
    signature: tuple[Any, ...] = (id(loader.dataset), *batches, sampler)
    known = _state.ordinals.get(signature)
    ordinal = known[0] if known is not None and known[1]() is None else len(_state.ordinals)
    if known is not None and known[1]() is not None:
        signature = (*signature, ordinal)
    _state.ordinals[signature] = (ordinal, weakref.ref(loader))
    loader.__dict__["_vramfit_ordinal"] = (ordinal, os.getpid())
    return ordinal


def _new_pass(loader: Any) -> Pass:
    ordinal = _ordinal_of(loader)
    _state.counts[ordinal] = _state.counts.get(ordinal, 0) + 1
    this_pass = Pass(loader, ordinal, _state.counts[ordinal])
    # A pass that was left with `break` ends when the next one begins.
    for left in [p for p in _state.current if p.loader is loader]:
        _end(left)
    this_pass.endless = _is_endless(loader)
    _tell(before_pass, this_pass)
    if this_pass.endless:
        this_pass.wanted = this_pass.stand_in = None
    _state.current.append(this_pass)
    return this_pass


def _is_by_hand(frame: FrameType) -> bool:
    """Whether a batch is drawn by a call of next() in code that says nothing of StopIteration: an end that the data
    does not have would be an error there. A for loop draws without a call; that of a generator ends the generator, and
    then whoever draws from that meets the end."""
    code = frame.f_code
    if dis.opname[code.co_code[frame.f_lasti]] in ("FOR_ITER", "SEND", "YIELD_FROM"):
        is_end_passed_on = code.co_flags & inspect.CO_GENERATOR and not _comes_again(code, frame.f_lasti)
        return bool(is_end_passed_on) and frame.f_back is not None and _is_by_hand(frame.f_back)
    return "next" in code.co_names and "StopIteration" not in code.co_names


@process.cached(64)
def _comes_again(code: CodeType, loop: int) -> bool:
    """Whether a loop over data is within another: a jump from behind where it draws to before it."""
    jumps = {*dis.hasjrel, *dis.hasjabs}
    return any(one.offset > loop > one.argval for one in dis.get_instructions(code) if one.opcode in jumps)


def _is_endless(loader: Any) -> bool:
    """timm's MultiEpochsDataLoader and its like: one iterator over an endless sampler, counted off by themselves."""
    if type(loader).__iter__ is _state.base_loader.__iter__:
        return False
    sampler = getattr(loader, "batch_sampler", None)
    if sampler is None:
        sampler = getattr(loader, "sampler", None)
    is_stream = of_loaders.is_stream(loader)
    return not is_stream and length_of(sampler) is None


def install(torch: Any) -> None:
    from torch.utils.data import get_worker_info
    from torch.utils.data.dataloader import DataLoader

    _state.base_loader = DataLoader
    original_iter = DataLoader.__iter__
    own_sampler = of_loaders.index_sampler.get()

    def index_sampler(self: Any) -> Any:
        others = (self.__dict__.get(name) for name in OTHER_SAMPLERS)
        own = next((other for other in others if other is not None), None) or own_sampler.fget(self)
        this_pass = self.__dict__.get("_vramfit_pass")
        if this_pass is None or this_pass.endless:
            return own
        return _CutSampler(own, this_pass)

    def iterate(self: Any) -> Any:
        if get_worker_info() is not None:
            return original_iter(self)
        try:
            this_pass = _new_pass(self)
        except RunComplete:
            raise
        except Exception as error:
            notes.hook_failed("loaders.new_pass", error)
            return original_iter(self)
        iterator = _PassIterator(lambda: open_own(self, this_pass), this_pass)
        this_pass.iterator = weakref.ref(iterator)
        return iterator

    def open_own(self: Any, this_pass: Pass) -> Any:
        self.__dict__["_vramfit_pass"] = this_pass
        try:
            own = original_iter(self)
        finally:
            self.__dict__.pop("_vramfit_pass", None)
        if of_loaders.kept_iterator.of(self) is own:
            # Persistent workers keep their iterator, and with it the sampler of the first pass.
            for cut in (of_loaders.drawn_from.of(own), of_loaders.draws.of(own)):
                if isinstance(cut, (_CutSampler, _CutDraws)):
                    cut.this_pass = this_pass
        return own

    if own_sampler is not None:
        of_loaders.index_sampler.replace(property(index_sampler))
    DataLoader.__iter__ = iterate
