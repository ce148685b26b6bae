"""Token sequences of which a comparison needs only a few: every n-th column of what a loader gives.

A network's largest cost on the CPU is the length of its texts. Columns are left out evenly, in all tensors of the batch
alike: what share of a row is padding, or counts in the loss, stays about what it is, so that loops which weigh rows
wrongly still differ. The step between columns is a power of two, by the length alone: batches that a plan pads to
another length keep the same tokens.
"""

from __future__ import annotations

from typing import Any

from vramfit.base import notes
from vramfit.contract import notes as said
from vramfit.observe.loaders import Pass
from vramfit.verify.batch_tensors import every_nth, exchanged, is_whole, named_tensors


class ShorterTexts:
    def __init__(self, tokens: int) -> None:
        self._tokens = tokens  # of a text, at least; under twice as many are left
        self._has_told = False

    def __call__(self, this_pass: Pass, batch: Any) -> Any:
        named = list(named_tensors(batch))
        steps = {length: self._step(length) for length in _lengths(named)}
        steps = {length: step for length, step in steps.items() if step > 1}
        if not steps or any(_is_in_the_way(name, tensor, steps) for name, tensor in named):
            return batch
        if not self._has_told:
            self._has_told = True
            longest = max(steps)
            notes.note(said.TextsCut(kept=-(-longest // steps[longest])))
        return exchanged(batch, lambda tensor: _thinned(tensor, steps))

    def _step(self, length: int) -> int:
        return 1 << max(0, (length // self._tokens).bit_length() - 1)


def _lengths(named: list[tuple[str, Any]]) -> set[int]:
    """The lengths of what looks like tokens, labels or masks of texts: [samples, length], whole numbers."""
    return {int(tensor.shape[1]) for _, tensor in named if tensor.dim() == 2 and is_whole(tensor)}


def _is_in_the_way(name: str, tensor: Any, steps: dict[int, int]) -> bool:
    """Whether something else hangs on the length: numbers for each token, or places in the text."""
    if any(int(side) in steps for side in tensor.shape[1:]):
        return not is_whole(tensor)
    is_place = tensor.dim() == 1 and is_whole(tensor) and tensor.numel() > 0
    if not is_place or "label" in name:
        return False
    return "position" in name or max(-(-n // step) for n, step in steps.items()) <= int(tensor.max()) < max(steps)


def _thinned(tensor: Any, steps: dict[int, int]) -> Any:
    for dim in range(1, tensor.dim()):
        tensor = every_nth(tensor, dim, steps.get(int(tensor.shape[dim]), 1))
    return tensor.contiguous()
