"""What a model counts or carries over in itself from forward to forward, where a batch is given in parts.

    def forward(self, x):
        self.step += 1                            # 1, 2, 3: once a batch, and would be once a part
        beta = min(1.0, self.step / 1000)

A number that its own method reads before it writes it is carried over. Before each further part of a batch it is put
back to what it was before the first: each part sees what the whole batch would have seen, and it has advanced once when
the batch is over. That is exact where each part brings it to the same value; one that depends on the data (an average
of losses, an EMA of codes in a buffer) is refused. So are buffers of the card that each forward writes to: small ones
are put back (power iterations of spectral norms), large ones refused.
"""

from __future__ import annotations

import dis
import weakref
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, NamedTuple

from vramfit.apply.forward_state import is_small
from vramfit.apply.split_sampler import Share
from vramfit.base import frames, process
from vramfit.observe import scopes
from vramfit.private import torch as of_torch

_STATISTICS = ("BatchNorm", "InstanceNorm")  # in names of classes: of a batch, or of its samples
# Libraries whose modules count for themselves: what they tell, no more.
_ASIDE = ("builtins.", "torch.", "torchmetrics.", "lightning.", "pytorch_lightning.")
_READS = ("LOAD_ATTR", "LOAD_METHOD")
_Place = tuple[int, str]  # id() of a module, an attribute's name


class _Carried(NamedTuple):
    module: Any
    name: str
    line: str  # that writes it


class _Numbers:
    """The numbers of one root's modules within a batch."""

    def __init__(self, before: dict[_Place, Any]) -> None:
        self.before = before
        self.after: dict[_Place, Any] | None = None  # its first part


class ModuleCounters:
    def __init__(self, torch: Any, stop: Callable[[str], None], name_effect: Callable[[str], None]) -> None:
        self._torch, self._stop, self._name_effect = torch, stop, name_effect
        self._of_roots: dict[int, _Numbers] = {}
        self._seen_in: set[int] = set()  # roots, in this part
        self._buffers: dict[_Place, tuple[weakref.ref[Any], int]] = {}
        self._written: dict[_Place, int] = {}  # forwards one after the other that wrote to it
        self._told: set[_Place] = set()

    def begin_part(self) -> None:
        self._seen_in.clear()

    def before_forward(self, root: Any, share: Share | None) -> None:
        """`share`: None where a trainer accumulates, which nobody tells of its batches."""
        root = scopes.unwrap(root)
        if id(root) in self._seen_in and share is not None:
            return
        self._seen_in.add(id(root))
        carried = {(id(each.module), each.name): each for each in self._carried_in(root)}
        now = {place: self._value_of(each) for place, each in carried.items()}
        known = self._of_roots.get(id(root))
        if known is not None:
            self._compare(known, now, carried, share)
        if known is None or share is None or share.is_first:
            self._of_roots[id(root)] = _Numbers(now)
        self._look_at_large(root)

    def _carried_in(self, root: Any) -> Iterator[_Carried]:
        for part in root.modules():
            kind: Any = type(part)
            if part.training and not f"{kind.__module__}.".startswith(_ASIDE):
                attributes = vars(part)
                for name, line in _updated_by(kind).items():
                    if isinstance(attributes.get(name), (bool, int, float)):
                        yield _Carried(part, name, line)
        for part, name, buffer in _buffers_in(root):
            if is_small(buffer) and self._is_watched(part, name):
                kind = type(part)
                yield _Carried(part, name, _updated_by(kind).get(name, "a buffer"))

    def _value_of(self, one: _Carried) -> Any:
        value = getattr(one.module, one.name)
        return value.detach().clone() if isinstance(value, self._torch.Tensor) else value

    def _compare(
        self, known: _Numbers, now: dict[_Place, Any], carried: dict[_Place, _Carried], share: Share | None
    ) -> None:
        """Called after a part of a batch."""
        changed = {p: v for p, v in now.items() if p in known.before and not _is_same(v, known.before[p])}
        if share is None:
            if changed:
                one = carried[next(iter(changed))]
                self._stop(f"{_spelled(one)}: the trainer would have it advance with each part of a batch")
            return
        if known.after is not None:
            for place in changed.keys() | known.after.keys():
                if place in carried and not _is_same(changed.get(place), known.after.get(place)):
                    self._stop(f"{_spelled(carried[place])}, by what the data are: parts of a batch are others")
        known.after = changed
        if share.is_first:
            return
        for place, value in changed.items():
            one = carried[place]
            if isinstance(value, bool):
                if place not in self._told:
                    self._told.add(place)
                    self._name_effect(f"{_spelled(one)}: what it decides is done with the first part of a batch alone")
                known.before[place] = value
                known.after = {p: v for p, v in known.after.items() if p != place}
            elif isinstance(value, self._torch.Tensor):
                with self._torch.no_grad():
                    getattr(one.module, one.name).copy_(known.before[place])
            else:
                setattr(one.module, one.name, known.before[place])

    def _look_at_large(self, root: Any) -> None:
        """Those that each of two forwards has written to."""
        for part, name, buffer in _buffers_in(root):
            place, writes = (id(part), name), of_torch.writes.of(buffer, 0)
            before = self._buffers.get(place)
            self._buffers[place] = (weakref.ref(buffer), writes)
            if before is None or before[0]() is not buffer:
                continue
            self._written[place] = self._written.get(place, 0) + 1 if writes != before[1] else 0
            if self._written[place] > 1 and not is_small(buffer):
                self._stop(
                    f"`{type(part).__name__}.{name}`, a buffer, is written to in each forward: it would be with each "
                    f"part of a batch"
                )

    def _is_watched(self, part: Any, name: str) -> bool:
        """A small buffer, until two forwards have left it alone."""
        return self._written.get((id(part), name), 1) > 0


def plain_numbers_of(root: Any) -> Iterator[tuple[Any, str, Any]]:
    """Numbers that somebody else sets on a module, not its own methods: the module, the attribute, the value."""
    for part in root.modules():
        kind = type(part)
        if not f"{kind.__module__}.".startswith(_ASIDE):
            for name, value in list(vars(part).items()):
                if isinstance(value, (int, float)) and not isinstance(value, bool) and name not in _updated_by(kind):
                    yield part, name, value


def carried_in(root: Any) -> Iterator[tuple[str, Any, str]]:
    """What a module's forwards carry over: names, values, and lines. Plain numbers that a method of its class reads
    before it writes them, and how often small buffers were written to."""
    for part, name, buffer in _buffers_in(root):
        if is_small(buffer):
            yield f"{type(part).__name__}.{name}", of_torch.writes.of(buffer, 0), "a buffer"
    for part in root.modules():
        kind = type(part)
        if part.training and not f"{kind.__module__}.".startswith(_ASIDE):
            for name, line in _updated_by(kind).items():
                value = vars(part).get(name)
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    yield f"{kind.__name__}.{name}", value, line


def _is_same(one: Any, other: Any) -> bool:
    if hasattr(one, "dim") and hasattr(other, "dim"):
        return bool((one == other).all())
    return type(one) is type(other) and bool(one == other)


def _spelled(one: _Carried) -> str:
    return f"`{type(one.module).__name__}.{one.name}` changes with each forward ({one.line})"


def _buffers_in(root: Any) -> Iterator[tuple[Any, str, Any]]:
    """But for statistics of norms, which are told for what they are."""
    for part in root.modules():
        if part.training and not any(word in type(part).__name__ for word in _STATISTICS):
            for name, buffer in of_torch.buffers.of(part, {}).items():
                if buffer is not None:
                    yield part, name, buffer


@process.cached()
def _updated_by(kind: type) -> dict[str, str]:
    """Attributes of `self` that a method of this class reads before it writes them, with the line that writes."""
    found: dict[str, str] = {}
    for each in kind.__mro__:
        if f"{each.__module__}.".startswith(_ASIDE):
            continue
        for name, method in vars(each).items():
            code = getattr(method, "__code__", None)
            if isinstance(code, CodeType) and name != "__init__":
                found = {**_updated_in(code), **found}
    return found


def _updated_in(code: CodeType) -> dict[str, str]:
    read: set[str] = set()
    written: set[str] = set()
    found: dict[str, str] = {}
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        number = getattr(instruction, "line_number", None) or instruction.starts_line
        line = number if type(number) is int and number else line
        name = str(instruction.argval)
        if instruction.opname in _READS and name not in written:
            read.add(name)
        elif instruction.opname == "STORE_ATTR":
            written.add(name)
            if name in read:
                found[name] = frames.spelled_line(code.co_filename, line)
    return found
