"""What an evaluation gathers on the card: the list of the script's that holds more device tensors with every batch.

kept = []
for x, y in loader:
    kept.append((model(x), y))          # found as `kept`, with this line
metric(torch.cat([out for out, _ in kept]))
"""

from __future__ import annotations

import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from vramfit.base import frames, notes, recorder
from vramfit.contract import notes as said
from vramfit.observe.loaders import Pass
from vramfit.observe.phases import position

_MAX_FRAMES = 40
_MAX_NESTING = 3
_TRAINER_LOOP = "evaluation_loop"  # transformers.Trainer's, which gathers by itself


@dataclass
class Gathered:
    """One place where tensors pile up."""

    name: str  # as the script writes it: "kept", "self.outputs"
    line: str  # "train.py:12 in validate"
    lists: list[list[Any]]  # that hold them; empty: they are in something else, like a tensor that is concatenated to
    moves_itself: bool = False  # by a setting of the trainer that gathers
    values: list[Any] = field(default_factory=list)  # of them, those that keep the graphs of what made them

    @property
    def keeps_graphs(self) -> bool:
        return bool(self.values)


def find(frame: FrameType | None, batches: int) -> Gathered | None:
    """The first place in the functions around a loop over a loader that holds a tensor of each of so many batches."""
    for place in _around(frame):
        if place.f_code.co_name == _TRAINER_LOOP and "transformers" in place.f_code.co_filename:
            return Gathered("predictions and labels", frames.script_line(place), [], moves_itself=True)
        if not frames.is_script(place.f_code):
            continue
        named = list(_named_values(place))
        for name, value in named:
            lists = [items for items in _lists_in(value) if count_on_card(items) >= batches]
            if lists:
                return Gathered(name, _line_that_adds(place, name), lists, values=list(_with_graphs(lists, 0)))
        for name, value in named:
            line = _line_matching(place, rf"\b{re.escape(name)}\s*=\s*torch\.(cat|concat|vstack|hstack)\(")
            if line and getattr(value, "is_cuda", False):
                return Gathered(name, line, [], values=list(_with_graphs(value, 0)))
        for name, value in named:
            if getattr(value, "is_cuda", False) is True and value.grad_fn is not None:
                line = _line_matching(place, rf"(?<![\w.]){re.escape(name)}\s*(\+=|=\s*{re.escape(name)}\s*\+)")
                if line:
                    return Gathered(name, line, [], values=[value])
    return None


def tell(this_pass: Pass, batches: int, bytes_per_batch: int, length: int) -> None:
    """A note of what is found, of an evaluation that leaves more on the card with every batch."""
    found = find(sys._getframe(1), batches)
    where = f" (`{found.name}`, {found.line})" if found is not None else ""
    name = f"data loader {this_pass.ordinal + 1}"
    remedy = "could go to the CPU, or be summed up"
    if found is not None and found.keeps_graphs:
        remedy = "keeps the graph of each forward, which torch.no_grad() around the evaluation spares"
    notes.note(
        said.Growth(
            text=f"every batch of {name} leaves {bytes_per_batch >> 20} MiB more on the card, in an evaluation: what "
            f"the script gathers there{where} {remedy}",
            phase=recorder.PHASE_NAMES[position.phase],
            bytes_per_batch=bytes_per_batch,
            batches=length,
            variable=found.name if found is not None else "",
            line=found.line if found is not None else "",
            movable=found is not None and (bool(found.lists) or found.moves_itself),
            graphs=found is not None and found.keeps_graphs,
        )
    )


def _around(frame: FrameType | None) -> Iterator[FrameType]:
    for _ in range(_MAX_FRAMES):
        if frame is None:
            return
        if not frames.is_ours(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def _named_values(frame: FrameType) -> Iterator[tuple[str, Any]]:
    local = frames.variables(frame)
    yield from local.items()
    own = getattr(local.get("self"), "__dict__", None)
    if isinstance(own, dict):
        yield from ((f"self.{name}", value) for name, value in list(own.items()))


def _lists_in(value: Any, depth: int = 0) -> Iterator[list[Any]]:
    """A list, the lists of a dict, of an object's attributes or of another list of few."""
    if isinstance(value, list):
        yield value
    if depth >= _MAX_NESTING:
        return
    if isinstance(value, dict):
        for item in list(value.values()):
            yield from _lists_in(item, depth + 1)
    elif isinstance(value, (list, tuple)) and len(value) <= 16:
        for item in value:
            yield from _lists_in(item, depth + 1)


def count_on_card(items: list[Any]) -> int:
    """How many of the items hold a tensor on a card."""
    return sum(1 for item in items if _holds(item, 0))


def _holds(item: Any, depth: int) -> bool:
    if getattr(item, "is_cuda", False) is True:
        return True
    if depth >= _MAX_NESTING:
        return False
    if isinstance(item, dict):
        return any(_holds(value, depth + 1) for value in item.values())
    return isinstance(item, (list, tuple)) and len(item) <= 64 and any(_holds(value, depth + 1) for value in item)


def _with_graphs(item: Any, depth: int) -> Iterator[Any]:
    if getattr(item, "grad_fn", None) is not None:
        yield item
    if depth > _MAX_NESTING:
        return
    inner = list(item.values()) if isinstance(item, dict) else item
    if isinstance(inner, (list, tuple)):
        for each in inner:
            yield from _with_graphs(each, depth + 1)


def move(items: list[Any], start: int = 0) -> None:
    """Takes every tensor among the items from `start` on to the CPU, whatever it is nested in. In place."""
    for index in range(start, len(items)):
        items[index] = _on_cpu(items[index], 0)


def _on_cpu(item: Any, depth: int) -> Any:
    if getattr(item, "is_cuda", False) is True:
        return item.detach().cpu() if hasattr(item, "detach") else item
    if depth >= _MAX_NESTING:
        return item
    if isinstance(item, dict):
        for key, value in list(item.items()):
            item[key] = _on_cpu(value, depth + 1)
        return item
    if isinstance(item, tuple):
        moved = [_on_cpu(value, depth + 1) for value in item]
        return type(item)(*moved) if hasattr(item, "_fields") else type(item)(moved)
    if isinstance(item, list):
        item[:] = [_on_cpu(value, depth + 1) for value in item]
    return item


def _line_that_adds(frame: FrameType, name: str) -> str:
    written = re.escape(name)
    line = _line_matching(frame, rf"(?<![\w.]){written}(\[[^\]]*\])?\s*(\.(append|extend|insert)\(|\+=)")
    return line or frames.place(frame)


def _line_matching(frame: FrameType, pattern: str) -> str:
    """The first line of the frame's function that matches, as `train.py:12 in validate`."""
    code = frame.f_code
    matches: Callable[[str], Any] = re.compile(pattern).search
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError):
        return ""
    if code.co_name == "<module>":
        lines, first = linecache.getlines(code.co_filename), 1
    for number, text in enumerate(lines, max(first, 1)):
        if matches(text.split("#")[0]):
            return re.sub(r":\d+ in ", f":{number} in ", frames.place(frame), count=1)
    return ""
