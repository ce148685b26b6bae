"""The loaders of a plan, whose batches are drawn in parts: by micro_batch itself, or for a trainer that accumulates."""

from __future__ import annotations

from typing import Any, Protocol

from vramfit import apply
from vramfit.apply.split_sampler import Share, SplitSampler
from vramfit.observe import loaders
from vramfit.observe.loaders import Pass
from vramfit.private import loaders as of_loaders
from vramfit.steer.cut import cutter


class Technique(Protocol):
    size: int
    accumulate: int
    framework_accumulates: bool

    def refuse(self, text: str) -> None: ...


def _sampler_of(loader: Any) -> Any:
    return loader.__dict__.get("_vramfit_few") or getattr(loader, "batch_sampler", None)


class SplitLoaders:
    def __init__(self, technique: Technique, id: str) -> None:
        self._technique = technique
        self._id = id

    def begin_pass(self, this_pass: Pass) -> bool:
        """Whether its batches come in parts."""
        technique, loader = self._technique, this_pass.loader
        sampler = _sampler_of(loader)
        if sampler is None or of_loaders.is_stream(loader):
            technique.refuse(f"data loader {this_pass.ordinal + 1} makes its batches in a way of its own")
            return False
        size = getattr(sampler, "batch_size", None)
        if size is not None and size <= technique.size:
            return False
        if technique.framework_accumulates and "_vramfit_split" not in loader.__dict__:
            technique.refuse("the trainer made another loader of the one it was given")
            return False
        self._split(loader, sampler).this_pass = this_pass
        if size is not None:
            cutter.budget.weight = technique.size / size  # a budget counts the script's batches
        self._say(size)
        return True

    def _say(self, size: int | None) -> None:
        technique = self._technique
        was = "what they were" if size is None else str(size)
        text = f"batches of {technique.size} instead of {was}, one optimizer step for the parts of each"
        if not technique.framework_accumulates:
            text += "; the loop's body runs for each part: what it prints or adds up (a running loss) has as many terms"
        apply.applied(self._id, text)

    def _split(self, loader: Any, sampler: Any) -> SplitSampler:
        technique = self._technique
        return loader.__dict__.setdefault(
            "_vramfit_split",
            SplitSampler(sampler, technique.size, not technique.framework_accumulates, technique),
        )

    def split_for_trainer(self, loader: Any) -> None:
        """Called before the trainer asks how many batches there are. It gives each of them the same weight."""
        sampler = _sampler_of(loader)
        size = getattr(sampler, "batch_size", None)
        if sampler is None or (size is not None and size <= self._technique.size):
            return
        if _has_uneven_batch(loader, size):
            self._technique.refuse(
                "each epoch ends with a smaller batch, which the trainer would give the weight of a whole one"
            )
        self._split(loader, sampler)

    def _own_split(self, this_pass: Pass) -> SplitSampler | None:
        split = this_pass.loader.__dict__.get("_vramfit_split")
        return split if split is not None and split.owner is self._technique else None

    def share_of(self, this_pass: Pass) -> Share | None:
        """What the part that was delivered last is of its batch. None: the batch is no part of ours."""
        split, technique = self._own_split(this_pass), self._technique
        if split is None or technique.framework_accumulates:
            return None
        # A batch that is given again (cut.py) was not drawn.
        turn = (this_pass.delivered - 1) % technique.accumulate
        whole = technique.size * technique.accumulate
        repeated = Share(technique.size, whole, turn == 0, turn == technique.accumulate - 1)
        share = split.shares.popleft() if split.shares else repeated
        this_pass.delivered_whole = share.is_last
        return share

    def end_pass(self, this_pass: Pass) -> bool:
        """Whether its batches came in parts."""
        split = self._own_split(this_pass)
        if split is None:
            return False
        split.this_pass = None  # which holds the loader: nothing but a collection would end a circle
        return True


def _has_uneven_batch(loader: Any, size: int | None) -> bool:
    samples = loaders.length_of(getattr(loader, "sampler", None))
    return size is None or samples is None or samples % size != 0
