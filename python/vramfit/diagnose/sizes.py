"""Named tensors that get larger with every step: `queue = torch.cat([queue, new])`.

Each is a new tensor under the old name, so no listing of what is kept finds it. The sizes of the script's variables are
compared at the ends of steps in a row, by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vramfit.base import frames
from vramfit.diagnose import live_tensors

_MAX_NAMES = 64
_STEPS = 5  # in a row, each with more
_WATCHED = 40  # steps


class Sizes:
    def __init__(self) -> None:
        self._steps = 0
        self._sizes: dict[tuple[str, str], list[int]] = {}
        self._noted: set[tuple[str, str]] = set()

    def look(self) -> list[Any]:
        """Tensors whose name stood for a smaller one at each of the last steps."""
        self._steps += 1
        if self._steps > _WATCHED:
            return []
        now: dict[tuple[str, str], list[int]] = {}
        found = []
        for key, tensor in _named():
            sizes = now[key] = [*self._sizes.get(key, [])[-_STEPS:], tensor.numel()]
            grows = len(sizes) > _STEPS and all(before < after for before, after in zip(sizes, sizes[1:]))
            if grows and key not in self._noted:
                self._noted.add(key)
                found.append(tensor)
        self._sizes = now
        return found


def _named() -> Iterator[tuple[tuple[str, str], Any]]:
    """The tensors on a card that the script's variables, and attributes of its objects, stand for."""
    count = 0
    for frame in frames.stacks():
        if not frames.is_script(frame.f_code):
            continue
        where = frame.f_code.co_name
        for name, value in frames.variables(frame).items():
            for path, tensor in _tensors(name, value):
                if count >= _MAX_NAMES:
                    return
                count += 1
                yield (path, where), tensor


def _tensors(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if live_tensors.is_tensor(value):
        if _is_source(value):
            yield name, value
    elif frames.is_script_object(value):
        for attribute, item in list(vars(value).items()):
            if _is_source(item):
                yield f"{name}.{attribute}", item


def _is_source(value: Any) -> bool:
    """What was computed of a longer one is longer too: only what has no graph is what grows."""
    return live_tensors.on_card(value) and value.grad_fn is None
