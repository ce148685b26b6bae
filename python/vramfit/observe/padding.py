"""How much of a batch of token sequences is padding: what padding to the longest, or buckets by length, would save."""

from __future__ import annotations

from typing import Any

from vramfit.base import events, notes, process
from vramfit.contract import notes as said
from vramfit.observe.loaders import Pass

_BATCHES = 8  # that are looked at
_WORTH = 0.1  # of the tokens, or of the length
_SHORTEST = 32  # tokens


class _State:
    def __init__(self) -> None:
        self.seen = 0
        self.tokens = self.padding = 0
        self.longest = self.length = 0
        self.is_noted = False


_state = process.own(_State)


def _on_batch(this_pass: Pass, batch: Any) -> None:
    if _state.is_noted or not isinstance(batch, dict) and not hasattr(batch, "keys"):
        return
    mask = batch.get("attention_mask") if hasattr(batch, "get") else None
    if mask is None or not hasattr(mask, "dim") or mask.dim() != 2 or mask.is_cuda or mask.shape[1] < _SHORTEST:
        return
    lengths = (mask != 0).sum(dim=1)
    _state.seen += 1
    _state.tokens += mask.numel()
    _state.padding += mask.numel() - int(lengths.sum())
    _state.longest = max(_state.longest, int(lengths.max()))
    _state.length = max(_state.length, int(mask.shape[1]))
    if _state.seen >= _BATCHES:
        _tell()


@notes.guarded("padding")
def _tell() -> None:
    _state.is_noted = True
    share, longest, length = _state.padding / _state.tokens, _state.longest, _state.length
    if share < _WORTH:
        return
    seen = f"the first {_state.seen} batches"
    if longest <= (1 - _WORTH) * length:
        text = (
            f"batches are padded to {length} tokens, and the longest text of {seen} has {longest}: padded to the "
            f"longest of its batch, each would take {longest / length:.0%} of the length at most, with the same "
            "results where the padding is masked"
        )
    else:
        text = (
            f"{share:.0%} of the tokens of {seen} are padding: batches of texts of a similar length (buckets) would "
            f"save about that share of the time, but nothing at the peak, which a text of {longest} tokens sets; only "
            "truncation (resize) makes that less"
        )
    notes.note(said.Advice(text=text))


def install() -> None:
    events.batch.listen(_on_batch)
