"""Masks that select everything, and checks that pass: VRAMFIT_MASKS=full.

What kernels find reads as zeros, so under `--values zeros` a mask on the card selects nothing: a loss over the hardest
pixels has none left, and a script may fail over that. So may one that checks its values, as torch.distributions does
with `(scale > 0).all()`. It is run a second time then, with masks taken for full, which is the most that they can
select (what is sized by them is an upper bound), and with `all`, `isfinite` and comparisons of whole tensors
read as true.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from vramfit import notes


def are_wanted() -> bool:
    return os.environ.get("VRAMFIT_MASKS") == "full" and os.environ.get("VRAMFIT_VALUES") != "cpu"


@functools.cache
def _tell() -> None:
    text = "masks on the card select everything and checks of values pass: with zeros the script failed"
    notes.note("assumed", text=text)


CHECKS = ("all", "isfinite", "_is_all_true")  # of torch.Tensor and of torch, where they have them
_MARK = "_vramfit_check"


def marking(original: Any) -> Any:
    """A check whose result is known again when it is read."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if are_wanted() and getattr(result, "is_cuda", False):
            setattr(result, _MARK, True)
        return result

    return call


def passes(reader: str, tensor: Any) -> bool:
    """Whether `reader`, which takes a value of the card's to the host, is to find a check that passed."""
    is_check = reader in ("equal", "allclose") or (reader in ("bool", "item", "tolist") and hasattr(tensor, _MARK))
    if is_check:
        _tell()
    return is_check


def positions(torch: Any, mask: Any, count: int | None = None) -> tuple[Any, ...]:
    """What `mask.nonzero(as_tuple=True)` is for a full mask (or one with `count` positions): one tensor a dimension."""
    _tell()
    found = torch.empty((mask.dim(), mask.numel() if count is None else count), dtype=torch.int64, device=mask.device)
    return tuple(found.unbind(0))


def indexing(torch: Any, original: Any, masks: tuple[Any, ...]) -> Callable[..., Any]:
    """`Tensor.__getitem__` or `__setitem__` with positions in place of the masks of the key."""

    def widened(key: Any, count: int | None = None) -> tuple[Any, ...]:
        wide: list[Any] = []
        for part in key if type(key) is tuple else (key,):
            is_mask = isinstance(part, torch.Tensor) and part.is_cuda and part.dim() > 0 and part.dtype in masks
            wide.extend(positions(torch, part, count) if is_mask else (part,))
        return tuple(wide)

    def get(self: Any, key: Any) -> Any:
        return original(self, widened(key))

    def put(self: Any, key: Any, value: Any) -> None:
        count = None
        if isinstance(value, torch.Tensor) and value.numel() > 1 and isinstance(key, torch.Tensor):
            inside = self.dim() - key.dim()  # dimensions of what stands at one position
            count = value.size(0) if value.dim() > inside else None  # as many positions as there are values for
        original(self, widened(key, count), value)

    return get if original.__name__ == "__getitem__" else put


def stand_in(torch: Any, name: str) -> Callable[..., Any] | None:
    """For `nonzero`, `masked_select` and `where` of one argument; None for all other functions."""

    def nonzero(tensor: Any, *, as_tuple: bool = False) -> Any:
        found = positions(torch, tensor)
        return found if as_tuple else torch.stack(found, 1)

    def masked_select(tensor: Any, mask: Any) -> Any:
        tensor, mask = torch.broadcast_tensors(tensor, mask)
        return tensor[positions(torch, mask)]

    def where(condition: Any) -> Any:  # of three arguments it reads nothing
        return nonzero(condition, as_tuple=True)

    return {"nonzero": nonzero, "masked_select": masked_select, "where": where}.get(name)
