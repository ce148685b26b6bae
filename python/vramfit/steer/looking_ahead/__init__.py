"""Data that the run will not come to, looked at beside it: the largest batch that a loader can make is found and run.

A forked process (looker.py) takes samples of the loader's data set, in an order that is spread over it, and collates
the largest batch that the sampler may draw. Once that has come, it is given to the script in place of the next batch of
that loader, in training as in evaluation. The job's own data set, random state, files and workers are not touched.

    train    | 1 | 2 | ... | 57 | the largest | 59 | ...
    looker   | sample 117,999 | 0 | 58,999 | 29,499 | ...      5,000 of 118,000: all that there was time for
"""

from __future__ import annotations

import atexit
import io
import os
import pickle
import select
import signal
import warnings
from dataclasses import dataclass, field
from typing import Any

from vramfit.base import events, notes, process, ranks
from vramfit.contract import notes as said
from vramfit.observe import loaders
from vramfit.observe.loaders import Pass
from vramfit.private import loaders as of_loaders
from vramfit.steer.cut import cutter
from vramfit.steer.looking_ahead import looker
from vramfit.steer.looking_ahead.sizes import size_of

_SHARE = 0.6  # of the seconds to run on: what is found late is not run
_READ_BYTES = 1 << 20
_MAX_AT_ONCE = 2  # processes that look, beside the job's own
_MAX_LOADERS = 8  # a script may make new data for every epoch


@dataclass
class _Loader:
    """What is known of one loader's data."""

    ordinal: int
    fd: int = -1  # of the looker's answer; -1: none is awaited
    pid: int = 0
    received: bytearray = field(default_factory=bytearray)
    answer: dict[str, Any] | None = None
    largest: Any = None  # a batch that was found and not run yet
    least: int = -1  # bytes of the batches that were delivered
    most: int = 0
    delivered_all: bool = False  # one pass gave all there is
    all_alike: bool = False  # its samples are rows of tensors: they can't differ


class _State:
    KEEPS = ("parents",)

    def __init__(self) -> None:
        self.known: dict[int, _Loader] = {}
        self.parents: list[
            dict[int, _Loader]
        ] = []  # a forked child may not let go of their batches, which may be pinned

    def in_child(self) -> None:
        self.parents.append(self.known)
        for loader in self.known.values():
            if loader.fd >= 0:
                os.close(loader.fd)


_state = process.own(_State)


def _before_pass(this_pass: Pass) -> None:
    if this_pass.ordinal in _state.known or not cutter.automatic or loaders.is_split(this_pass.loader):
        return
    known = _state.known[this_pass.ordinal] = _Loader(this_pass.ordinal)
    known.all_alike = _is_of_rows(getattr(this_pass.loader, "dataset", None))
    budget = cutter.budget
    if budget.seconds <= 0 or ranks.count() > 1:
        return
    seconds = _SHARE * budget.seconds - budget.used_seconds()
    waiting = sum(other.fd >= 0 for other in _state.known.values())
    if seconds > 0.5 and waiting < _MAX_AT_ONCE and len(_state.known) <= _MAX_LOADERS:
        _start(known, this_pass.loader, seconds)


def _is_of_rows(dataset: Any) -> bool:
    from torch.utils.data import Subset, TensorDataset

    while isinstance(dataset, Subset):
        dataset = dataset.dataset
    return isinstance(dataset, TensorDataset)


def _start(known: _Loader, loader: Any, seconds: float) -> None:
    """The looker is nobody's child: a script that waits for its own would find it."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forking with threads: what happens to it harms nobody
        child = os.fork()
        if child == 0:
            try:
                os.close(read)
                if os.fork() == 0:
                    looker.run(loader, write, seconds)
            finally:
                os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    os.set_blocking(read, False)
    known.fd = read


def _receive(known: _Loader) -> None:
    """What has come of the answer: its process id, then all the rest when it is done."""
    if known.fd < 0:
        return
    try:
        while select.select([known.fd], [], [], 0)[0]:
            data = os.read(known.fd, _READ_BYTES)
            if not data:
                os.close(known.fd)
                known.fd = -1
                _understand(known)
                return
            known.received += data
    except BlockingIOError:
        pass
    if not known.pid and len(known.received) >= 8:
        known.pid = int.from_bytes(known.received[:8], "little")


def _understand(known: _Loader) -> None:
    try:
        known.answer = pickle.loads(bytes(known.received[8:]))
        batch = known.answer.pop("batch", None)
        if batch is not None:
            found = pickle.load(io.BytesIO(batch))
            known.largest = found if size_of(found) > known.most else None
    except Exception:  # it was ended, or its batch does not come through a pipe
        known.answer = known.answer or {}
    known.received.clear()


def _exchange(this_pass: Pass, batch: Any) -> Any:
    """The batch that the script gets: the largest, once it is known, in place of another."""
    known = _state.known.get(this_pass.ordinal)
    if known is None:
        return batch
    _receive(known)
    this_pass.all_alike = bool(known.answer) and known.answer.get("looked", 0) > 0 and not known.answer.get("differ")
    if known.largest is not None:
        batch, known.largest = known.largest, None
        if getattr(this_pass.loader, "pin_memory", False):
            batch = of_loaders.pin(batch)
    size = size_of(batch)
    known.least = size if known.least < 0 else min(known.least, size)
    known.most = max(known.most, size)
    return batch


def _after_pass(this_pass: Pass) -> None:
    known = _state.known.get(this_pass.ordinal)
    length = loaders.length_of(this_pass.loader)
    if known is not None and this_pass.wanted is None and length is not None and this_pass.delivered >= length:
        known.delivered_all = True


def _tell() -> None:
    """Tells at the end what was looked at, and what that leaves open."""
    for known in _state.known.values():
        _receive(known)
        if known.pid and known.fd >= 0:
            try:
                os.kill(known.pid, signal.SIGKILL)
            except OSError:
                pass
    left = [known for known in _state.known.values() if not known.delivered_all] if notes.was_cut() else []
    unseen = [known.ordinal + 1 for known in left if not _tell_one(known)]
    if unseen:
        which = f"data loader {unseen[0]}" if len(unseen) == 1 else f"{len(unseen)} data loaders"
        notes.note(said.Open(text=f"the samples of {which} that were not read were not looked at, and may be larger"))
    _state.known.clear()


def _tell_one(known: _Loader) -> bool:
    """False where nothing is known of what was not read."""
    name = f"data loader {known.ordinal + 1}"
    answer = known.answer or {}
    looked, of = answer.get("looked", 0), answer.get("of")
    if looked:
        notes.note(said.Looked(loader=known.ordinal, samples=looked, of=of, differ=bool(answer.get("differ"))))
    if known.largest is not None:
        notes.note(
            said.Open(text=f"a larger batch of {name} than any that was run was found, and there was no time to run it")
        )
    elif answer.get("differ") and (of is None or looked < of):
        rest = f"{looked:,} of {of:,}" if of is not None else f"{looked:,}"
        notes.note(said.Open(text=f"the samples of {name} differ in size, and only {rest} were looked at"))
    elif not looked and 0 <= known.least < known.most:
        why = f" ({answer['error']})" if answer.get("error") else ""
        notes.note(said.Open(text=f"the batches of {name} differ in size, and only some were read{why}"))
    else:
        return bool(looked) or known.all_alike
    return True


def install() -> None:
    if os.environ.get("VRAMFIT_REAL") == "1":
        return
    atexit.register(_tell)
    events.before_stop.listen(_tell)
    loaders.before_pass.append(_before_pass)
    loaders.exchanges.append(_exchange)
    loaders.after_pass.append(_after_pass)
