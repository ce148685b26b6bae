"""Graphs that get longer: `total += loss` and a hidden state that is never detached.

The tensor at the end of such a graph is a new one in every step, under the same name. So the graphs of named tensors
are counted at the end of steps, and names compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from vramfit.base import frames, graphs
from vramfit.contract import notes as said
from vramfit.diagnose import fillers, live_tensors
from vramfit.observe.holders import Holder

_MAX_NODES = 20_000
_MAX_NAMES = 24
_MAX_ITEMS = 8  # of a list or dict that a name stands for
_STEPS = 3  # in a row with more nodes


class Size(NamedTuple):
    """The size of a graph: all its nodes, and those of them that are the gradients of weights."""

    nodes: int
    weights: int
    complete: bool  # counted to its end

    def is_less_than(self, other: Size) -> bool:
        """A step's graph has more nodes where more weights are trained, and no more of them for each."""
        return self.nodes < other.nodes and self.nodes * max(other.weights, 1) < other.nodes * max(self.weights, 1)


class Lengths:
    """Sizes of named graphs at the ends of steps in a row."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], list[Size]] = {}
        self._noted: set[tuple[str, str]] = set()

    def measure(self) -> list[said.GrowingGraph]:
        """Entries for a note: graphs that had more nodes at each of the last steps."""
        found = []
        now: dict[tuple[str, str], list[Size]] = {}
        for name, where, kind, function in _named_graphs():
            size = size_of(function)
            key = (name, where.rpartition(" in ")[2])
            history = now[key] = [*self._counts.get(key, [])[-_STEPS:], size]
            grows = len(history) > _STEPS and all(a.is_less_than(b) for a, b in zip(history, history[1:]))
            if grows and key not in self._noted:
                self._noted.add(key)
                filled_at = fillers.find(name)
                holder = Holder(kind=kind, name=name, where=where, chain=[f"{kind} {name}"], filled_at=filled_at)
                found.append(
                    said.GrowingGraph(
                        holder=holder.for_note(),
                        nodes_before=history[0].nodes,
                        nodes_after=size.nodes,
                        counted_all=size.complete,
                    )
                )
        self._counts = now
        return found


def size_of(function: Any) -> Size:
    """The size of the graph behind a grad_fn, as far as its nodes are counted."""
    nodes = weights = 0
    for node in graphs.nodes_behind([function], _MAX_NODES):
        nodes += 1
        weights += hasattr(node, "variable")
    return Size(nodes, weights, nodes < _MAX_NODES)


def _named_graphs() -> Iterator[tuple[str, str, said.HolderKind, Any]]:
    """(name, where, kind, grad_fn) of the script's variables, their attributes and the first items of their lists."""
    count = 0
    for frame in frames.stacks():
        if not frames.is_script(frame.f_code):
            continue
        kind: said.HolderKind = "global" if frame.f_code.co_name == "<module>" else "local"
        where = frames.place(frame)
        for name, value in frames.variables(frame).items():
            for path, tensor in _tensors(name, value):
                if count >= _MAX_NAMES:
                    return
                count += 1
                yield path, where, "attribute" if "." in path else kind, tensor.grad_fn


def _tensors(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if live_tensors.is_tensor(value):
        if value.grad_fn is not None:
            yield name, value
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value[:_MAX_ITEMS]):
            if live_tensors.is_tensor(item) and item.grad_fn is not None:
                yield f"{name}[{index}]", item
    elif isinstance(value, dict):
        for key, item in list(value.items())[:_MAX_ITEMS]:
            if live_tensors.is_tensor(item) and item.grad_fn is not None:
                yield f"{name}[{key!r}]", item
    elif frames.is_script_object(value):
        for attribute, item in list(vars(value).items()):
            if live_tensors.is_tensor(item) and item.grad_fn is not None:
                yield f"{name}.{attribute}", item
