"""Whether a forward pass that trains nothing is an evaluation, or a part of a training step.

A reference model, a frozen encoder, a target network, a teacher and pseudo-labels run without gradients too, but
inside a step: a backward pass follows on the same batch. At the time of the forward that is not known, so what may
be an evaluation is recorded as one, and the recording is corrected if that backward pass comes (Stretch). The place in
the script that called it is remembered: from the second step on it is right at once.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from vramfit.base import events, process, recorder
from vramfit.base.recorder import LOAD, TRAIN, VALIDATE
from vramfit.observe import loaders, scopes, training_loaders
from vramfit.private import torch as of_torch

_MAX_DEPTH = 40
_LIBRARY = (
    f"{os.sep}torch{os.sep}nn{os.sep}",
    f"{os.sep}vramfit{os.sep}",
    f"{os.sep}torch{os.sep}{of_torch.COMPILER_FOLDER}{os.sep}",
)

Batch = tuple[int, int, int]
Site = tuple[CodeType, int]


class Stretch:
    """Forwards since `began` that may turn out to be part of a training step."""

    def __init__(self, batch: Batch | None) -> None:
        self.began = recorder.recorded()
        self.batch = batch
        self.sites: set[Site] = set()
        self.keeps_graph = False  # gradients were on, and no forward in training came since
        self.when_settled: list[Callable[[], None]] = []

    def is_in_step(self, batch: Batch | None) -> bool:
        """Asked when a backward pass begins on `batch`; without a loader a step's own forwards can't be told."""
        return self.keeps_graph or (batch is not None and self.batch == batch)


class _Known:
    def __init__(self) -> None:
        self.in_step: set[Site] = set()
        self.optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self.trained: dict[int, tuple[weakref.ref[Any], int, bool]] = {}
        self.stretch: Stretch | None = None


known = process.own(_Known)


def current_batch() -> Batch | None:
    """The batch that the script is at: loader, pass, number in the pass; None outside of every pass."""
    this_pass = loaders.innermost()
    return (this_pass.ordinal, this_pass.number, this_pass.delivered) if this_pass is not None else None


def _site(frame: FrameType | None) -> Site | None:
    for _ in range(_MAX_DEPTH):
        if frame is None:
            return None
        if not any(part in frame.f_code.co_filename for part in _LIBRARY):
            return frame.f_code, frame.f_lineno
        frame = frame.f_back
    return None


def is_trained(module: Any) -> bool:
    """Whether a module holds parameters that an optimizer has."""
    inner = scopes.unwrap(module)
    optimizers = list(known.optimizers)
    made = sum(len(optimizer.param_groups) for optimizer in optimizers)
    before = known.trained.get(id(inner))
    if before is not None and before[0]() is inner and before[1] == made:
        return before[2]
    of_optimizers = {id(p) for o in optimizers for group in o.param_groups for p in group["params"]}
    found = any(id(parameter) in of_optimizers for parameter in inner.parameters())
    known.trained[id(inner)] = (weakref.ref(inner), made, found)
    return found


def _trains(this_pass: loaders.Pass) -> bool:
    return this_pass.trained or training_loaders.looks_like_one(this_pass)


def trains() -> None:
    """A forward in training: the next backward pass is its own."""
    if known.stretch is not None:
        known.stretch.keeps_graph = False


def phase_of_evaluation(module: Any, grad_enabled: bool, frame: FrameType | None) -> int:
    """The phase of a forward under a function that is called so: of training, if a backward pass follows."""
    if not (grad_enabled and module.training and is_trained(module)):
        settle()
        return VALIDATE
    site = _site(frame)
    return TRAIN if site in known.in_step else _perhaps_evaluates(site, current_batch(), grad_enabled)


def phase_of(module: Any, grad_enabled: bool, frame: FrameType | None, now: int) -> int:
    """The phase of a forward that no name on the stack tells, while the phase is `now`.

    VALIDATE may be taken back: `backward_begins()`.
    """
    site = _site(frame)
    batch = current_batch()
    this_pass = loaders.innermost()
    if site in known.in_step and (this_pass is None or _trains(this_pass)):
        return TRAIN
    if this_pass is not None and not _trains(this_pass):
        return _perhaps_evaluates(site, batch, grad_enabled)
    if not module.training and is_trained(module) or grad_enabled:
        return _perhaps_evaluates(site, batch, grad_enabled)
    if this_pass is not None or is_trained(module):
        return LOAD if now == LOAD and this_pass is None else TRAIN
    return now  # a frozen network beside whatever runs


def _perhaps_evaluates(site: Site | None, batch: Batch | None, grad_enabled: bool) -> int:
    stretch = known.stretch
    if stretch is None or stretch.batch != batch:
        settle()
        stretch = known.stretch = Stretch(batch)
    if site is not None:
        stretch.sites.add(site)
    stretch.keeps_graph = grad_enabled
    return VALIDATE


def settle() -> None:
    """The open stretch, if any, was an evaluation."""
    stretch, known.stretch = known.stretch, None
    for tell in stretch.when_settled if stretch is not None else ():
        tell()


def when_settled(tell: Callable[[], None]) -> None:
    """Calls `tell` once what runs now is known to be an evaluation; never, if it turns out to be none."""
    if known.stretch is None:
        tell()
    else:
        known.stretch.when_settled.append(tell)


def backward_begins() -> None:
    """Corrects the recording of a stretch that turns out to be part of this step."""
    stretch = known.stretch
    if stretch is None:
        return
    if not stretch.is_in_step(current_batch()):
        return settle()
    known.stretch = None
    known.in_step.update(stretch.sites)
    recorder.relabel(stretch.began, VALIDATE, TRAIN)


def _batch_arrives(this_pass: Any, batch: Any) -> None:
    if known.stretch is not None and known.stretch.batch != current_batch():
        settle()


def install() -> None:
    import atexit

    events.optimizer_made.listen(lambda optimizer: known.optimizers.add(optimizer))
    events.batch.listen(_batch_arrives)
    atexit.register(settle)
