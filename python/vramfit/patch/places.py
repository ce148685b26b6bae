"""Where the script itself does what a plan changes: the lines of its own on the stack, as its syntax tree has them."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from vramfit.base import frames, process
from vramfit.patch.source_tree import Span

_MAX_DEPTH = 200
# Their frames between the script's line and what happens are the ordinary way there.
_EXPECTED = ("torch.", "torch", "vramfit.", "functools", "contextlib", "typing")


@dataclass(frozen=True)
class Line:
    """One of the script's own frames."""

    file: str
    function: str
    span: Span
    frame: int  # id() of the frame: whether two stacks went through the same call


@dataclass(frozen=True)
class Place:
    """Outermost first; the last is where the script's own code ends."""

    stack: tuple[Line, ...]
    library: str = ""  # that stands between it and what happened

    @property
    def line(self) -> Line:
        return self.stack[-1]

    def key(self) -> tuple[Any, ...]:
        return (self.line.file, self.line.span, self.library)


def here(frame: FrameType | None = None) -> Place | None:
    """None where no line of the script's is on the stack."""
    frame = frame or sys._getframe(1)
    lines: list[Line] = []
    library = ""
    for _ in range(_MAX_DEPTH):
        if frame is None:
            break
        if frames.is_script(frame.f_code):
            span = _span(frame)
            if span is not None:
                lines.append(Line(frame.f_code.co_filename, frame.f_code.co_name, span, id(frame)))
        elif not lines and not library:
            name = str(frame.f_globals.get("__name__", ""))
            if not name.startswith(_EXPECTED) and frames.is_installed(frame.f_code.co_filename):
                library = name.split(".")[0]
        frame = frame.f_back
    return Place(tuple(reversed(lines)), library) if lines else None


def _span(frame: FrameType) -> Span | None:
    """The span of what runs in this frame. Python tells it from 3.11 on."""
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None or frame.f_lasti < 0:
        return None
    for index, (line, end_line, column, end_column) in enumerate(positions()):
        if index == frame.f_lasti // 2:
            return None if None in (line, end_line, column, end_column) else Span(line, column, end_line, end_column)
    return None


@dataclass
class LoaderPlace:
    """The places of one data loader, which is known by its ordinal."""

    made: Place | None = None
    fetched: dict[tuple[Any, ...], Place] = field(default_factory=dict)
    names: dict[tuple[Any, ...], list[str]] = field(default_factory=dict)  # of the loader, in the frame that fetches
    trained: bool = False
    splittable: bool = True  # its batches are tensors of as many rows as samples, and nothing else


@dataclass
class OptimizerPlace:
    made: Place
    # Names that hold a model whose parameters it has: (name, how many frames of the script outwards, its modules).
    models: list[tuple[str, int, frozenset[str]]]
    times: int = 1


class Places:
    """Everything that was seen, in the order of its first time."""

    KEEPS = process.ALL

    def __init__(self) -> None:
        self.began = time.time()
        self.loaders: dict[int, LoaderPlace] = {}
        self.optimizers: dict[tuple[Any, ...], OptimizerPlace] = {}
        # For each backward pass, the forwards since the one before it.
        self.regions: dict[tuple[Any, ...], tuple[list[Place], Place]] = {}
        self.forwards: list[Place] = []
        self.not_one_tensor: set[tuple[Any, ...]] = set()  # keys of places where a model returned anything else
        self.weighed_otherwise = ""  # the line of a loss whose parts count by more than their samples
        self.counted: list[str] = []  # what goes on with each batch beside the loop, and would with each part of one
        self.uneven_mean = False  # of a cross entropy over labels of which some are left out, or weigh more
        self.stepped_on: set[str] = set()  # devices of parameters that an optimizer stepped
        self.gathered: tuple[str, str, bool] | None = None  # the list, the line that adds to it, whether tensors alone
        self.seen: dict[str, dict[tuple[Any, ...], Place]] = {}

    def add(self, kind: str, place: Place | None) -> None:
        if place is not None:
            self.seen.setdefault(kind, {}).setdefault(place.key(), place)

    def of(self, kind: str) -> list[Place]:
        return list(self.seen.get(kind, {}).values())


places = process.own(Places)


def scope_of(frame: FrameType) -> dict[str, Any]:
    """A frame's own names, before those of its module. The caller clears it: nothing else holds what they hold."""
    own = frames.variables(frame)
    return own | {name: held for name, held in frame.f_globals.items() if name not in own}


def names_of(value: Any, frame: FrameType, most: int = 8) -> list[str]:
    """How this frame can spell a value: its variables, and the attributes of its objects."""
    found: list[str] = []
    scope = scope_of(frame)
    for name, held in scope.items():
        if held is value:
            found.append(name)
        else:
            found += [f"{name}.{inner}" for inner, own in attributes_of(held).items() if own is value]
    scope.clear()
    return [name for name in found if not name.startswith("__")][:most]


def attributes_of(held: Any) -> dict[str, Any]:
    """What an object of the script's own calls things that it, its class or PyTorch holds for it."""
    if not frames.is_script_object(held):
        return {}
    found: dict[str, Any] = {}
    for kind in reversed(type(held).__mro__):
        found.update(vars(kind))
    found.update(vars(held))
    if isinstance(held, sys.modules["torch"].nn.Module):
        found.update(held.named_children())
    return found
