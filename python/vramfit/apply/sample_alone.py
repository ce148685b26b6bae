"""Whether what a network makes of a sample hangs on the others of its batch: the sample is worked out by itself too.

Statistics over a batch, attention over it, places in it and chance show in the numbers that come out, whatever code
makes them. Needs numbers: on a real card, or computed on the CPU.
"""

from __future__ import annotations

from typing import Any

import torch

from vramfit.apply import output_trees

# Sums in another order differ by so much of an output's largest number: in float32, in fewer bits. Of whole numbers
# that are made of such sums (classes, places, masks) so many may be others.
_FINE, _COARSE, _TINY = 1e-3, 0.05, 1e-6
_SINGLE = 4  # bytes
_BY_LUCK, _MOST_SAMPLES = 64, 4


def places_of(output: Any, size: int) -> list[int]:
    """Which samples of a part are worked out by themselves: its last; further ones where a few whole numbers (a rank,
    whether it is above the mean) may be what they are by luck."""
    numbers = [one[0] for one in _tensors_in(output) if len(one) and not _is_of_sums(one)]
    is_by_luck = any(one.numel() <= _BY_LUCK for one in numbers)
    return list(range(max(size - (_MOST_SAMPLES if is_by_luck else 1), 0), size))


def sample_of(output: Any, place: int) -> list[Any]:
    """The numbers that one of the samples has in the output of a network, copied."""
    return [one[place : place + 1].detach().clone() for one in _tensors_in(output)]


def _tensors_in(output: Any) -> list[Any]:
    return [one for one in output_trees.flatten(output)[0] if isinstance(one, torch.Tensor) and one.dim()]


def is_same(module: Any, found: list[Any], expected: list[Any]) -> bool:
    """Whether a sample came to the same numbers both times. `module` made them."""
    is_coarse = torch.is_autocast_enabled() or any(map(_has_few_bits, module.parameters()))
    return len(found) == len(expected) and all(_is_same(*pair, is_coarse) for pair in zip(found, expected))


def _has_few_bits(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() and tensor.element_size() < _SINGLE)


def _is_same(one: Any, expected: Any, is_coarse: bool) -> bool:
    if one.shape != expected.shape:
        return False
    if one.numel() == 0:
        return True
    share = _COARSE if is_coarse or _has_few_bits(expected) else _FINE
    is_whole = not _is_of_sums(expected)
    one, expected = _plain(one), _plain(expected)
    is_other = (one - expected).abs() > share * float(expected.abs().max()) + _TINY
    return int(is_other.sum()) <= (share * is_other.numel() if is_whole else 0)


def _is_of_sums(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())


def _plain(tensor: Any) -> Any:
    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).double()
