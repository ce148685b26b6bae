"""Which loaders feed a training: those in whose passes a backward pass ran, and at first those that shuffle."""

from __future__ import annotations

from vramfit.base import process
from vramfit.observe.loaders import Pass


class _State:
    def __init__(self) -> None:
        self.ordinals: set[int] = set()  # of loaders in whose passes a backward pass ran


_state = process.own(_State)


def add(this_pass: Pass) -> None:
    _state.ordinals.add(this_pass.ordinal)


def looks_like_one(this_pass: Pass) -> bool:
    if this_pass.ordinal in _state.ordinals:
        return True
    if this_pass.number > 1:
        return False
    sampler = getattr(this_pass.loader, "sampler", None)
    if getattr(sampler, "shuffle", None) is not None:  # DistributedSampler
        return bool(sampler.shuffle)
    name = type(sampler).__name__
    return "Random" in name or "Weighted" in name or "Repeat" in name
