"""Each batch that a loader draws, drawn in parts: whatever samples make up a batch, in whatever order and number."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from vramfit.observe import loaders
from vramfit.observe.loaders import Pass


class Share(NamedTuple):
    """The share that one micro-batch is of the batch that the script would have got."""

    size: int  # samples
    of: int  # samples of that batch
    is_first: bool
    is_last: bool


class SplitSampler:
    """Around a batch sampler. `shares` holds those of the parts drawn and not delivered yet."""

    def __init__(self, own: Any, size: int, tells_batches: bool, owner: object) -> None:
        """`tells_batches`: to who asks for its length within a pass, `i + 1 == len(loader)`, where rounds have the
        number of their batch. After it, what was added up has a term for each part. Trainers that accumulate count
        parts. `owner`: the technique whose parts these are: another one of the plan may be for an evaluation's loader.
        """
        self._own = own
        self.owner = owner
        self._size = size
        self._tells_batches = tells_batches
        self.shares: deque[Share] = deque()
        self.this_pass: Pass | None = None

    def __iter__(self) -> Iterator[list[Any]]:
        self.shares.clear()
        for batch in self._own:
            yield from self._parts(list(batch))

    def _parts(self, batch: list[Any]) -> Iterator[list[Any]]:
        for start in range(0, len(batch), self._size):
            part = batch[start : start + self._size]
            is_last = start + self._size >= len(batch)
            self.shares.append(Share(len(part), len(batch), start == 0, is_last))
            if self.this_pass is not None:
                self.this_pass.drawn_whole = is_last
            yield part

    def __len__(self) -> int:
        is_numbered = self._tells_batches and any(each is self.this_pass for each in loaders.open_passes())
        return len(self._own) if is_numbered else self.count_parts()

    def count_parts(self) -> int:
        """Exact for torch's BatchSampler; else as if every batch were as large as the largest known."""
        size = getattr(self._own, "batch_size", None)
        sampler = getattr(self._own, "sampler", None)
        if size is None or sampler is None:
            return len(self._own)
        whole, rest = divmod(len(sampler), size)
        rest = 0 if getattr(self._own, "drop_last", False) else rest
        return whole * -(-size // self._size) + -(-rest // self._size)

    def __getattr__(self, name: str) -> Any:
        if name == "_own":
            raise AttributeError(name)
        return getattr(self._own, name)
