"""Peaks of all cards since they were last reset, and whether one round of a training has larger ones than another."""

from __future__ import annotations

from vramfit.base import recorder

_GROWTH = 1.001  # a peak that grows less is steady: reserved memory may differ by one small segment


def read_peaks() -> list[int]:
    """Peak allocated and reserved bytes of every card since the peaks were last reset."""
    peaks: list[int] = []
    for device in range(16):
        allocated = recorder.memory(device, recorder.PEAK_ALLOCATED)
        if allocated < 0 and device > 0:
            break
        peaks += [allocated, recorder.memory(device, recorder.PEAK_RESERVED)]
    return peaks


def has_grown(before: list[int], after: list[int]) -> bool:
    if len(after) > len(before):
        return True
    return any(new > max(old, 0) * _GROWTH for old, new in zip(before, after))
