"""A batch in parts, for a network that works on one after the other: its arguments split, its outputs put together.

Split are tensors whose first dimension is that of the network's first one. Outputs are put together along it; a number
is taken for a mean over the samples.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import torch

from vramfit.apply import forwards, output_trees
from vramfit.base import process
from vramfit.private import torch as of_torch

# Networks that can't work in parts, as foreign_forwards calls them.
OBSTACLES = MappingProxyType(
    {
        "compiled": "the model is compiled: its forward would be compiled for a part of the batch",
        "sharded": "parameters are sharded: ranks would gather them for each part",
    }
)
HANGS = "what {} makes of a sample hangs on the others of its batch, or on chance"
OF_RANKS = "DistributedDataParallel"  # counts its calls, so that ranks keep step: the network within is split


class NotInParts(Exception):
    """The network can't work on its batch in parts; why is its text."""


class _Inside(threading.local):
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.calls = 0  # of networks that work on a part: modules in them get that part whole


_inside = process.own(_Inside)


def is_in_part() -> bool:
    """Whether a network works on a part of its batch in this thread."""
    return bool(_inside.calls)


def of_a_part(forward: Any) -> Any:
    """The forward that counts as inside, whole or in both runs of a part."""

    def forward_of_a_part(*args: Any, **kwargs: Any) -> Any:
        _inside.calls += 1
        try:
            return forward(*args, **kwargs)
        finally:
            _inside.calls -= 1

    return forward_of_a_part


def failure_on_part(module: Any, error: Exception) -> str:
    words = (str(error).splitlines() or [""])[0]
    return f"{type(module).__name__} fails on a part of its batch: {type(error).__name__}: {words}"


class _Leave(torch.autograd.Function):
    """Copies a part to its place in the whole; what it returns is as large as its gradient, and of one number."""

    @staticmethod
    def forward(ctx: Any, part: Any, rows: Any) -> Any:
        rows.copy_(part)
        return part.new_empty(()).expand(part.shape)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:  # type: ignore[override]
        return gradient, None


class _Join(torch.autograd.Function):
    """The whole, which is no argument for autograd to ask about."""

    @staticmethod
    def forward(ctx: Any, whole: list[Any], places: list[tuple[int, int]], *ends: Any) -> Any:
        ctx.places = places
        return whole[0]

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:  # type: ignore[override]
        return None, None, *(gradient.narrow(0, start, size) for start, size in ctx.places)


class _Joined:
    """An output of all parts: each is copied to its place as soon as it is there, and goes, so that the whole is never
    there twice. What remains of a part is where its gradient goes to."""

    def __init__(self, first: Any, batch: int) -> None:
        formats = {4: torch.channels_last, 5: torch.channels_last_3d}
        order = formats.get(first.dim())
        is_last = order is not None and not first.is_contiguous() and first.is_contiguous(memory_format=order)
        self._whole = torch.empty(
            (batch, *first.shape[1:]),
            dtype=first.dtype,
            device=first.device,
            memory_format=order if is_last else torch.contiguous_format,
        )
        self._start = 0
        self._sides = first.shape[1:]
        self._places: list[tuple[int, int]] = []
        self._ends: list[Any] = []  # of the graphs of parts that have one

    def add(self, part: Any) -> None:
        if part.shape[1:] != self._sides:  # a table of all pairs of samples
            sizes = " and ".join("x".join(map(str, sides)) for sides in (self._sides, part.shape[1:]))
            raise NotInParts(f"of parts of a batch the network returns samples of different sizes, {sizes}")
        rows = self._whole.narrow(0, self._start, part.shape[0])
        if part.requires_grad:
            self._places.append((self._start, part.shape[0]))
            self._ends.append(_Leave.apply(part, rows))
        else:
            rows.copy_(part)
        self._start += part.shape[0]

    def whole(self) -> Any:
        if not self._ends:
            return self._whole
        return _Join.apply([self._whole], self._places, *self._ends)


class Outputs:
    """The outputs of all parts, put together as those of the whole batch."""

    def __init__(self, torch: Any, sizes: list[int]) -> None:
        self._torch = torch
        self._sizes = sizes
        self._shape: Any = None
        self._parts = 0
        self._joined: list[Any] = []  # for each output: _Joined, or what each part returned
        self.has_means = False

    def add(self, output: Any) -> None:
        leaves, shape = output_trees.flatten(output)
        if self._parts and (shape != self._shape or len(leaves) != len(self._joined)):
            raise NotInParts("the network returns something else for one part of a batch than for another")
        size = self._sizes[self._parts]
        for place, leaf in enumerate(leaves):
            follows = isinstance(leaf, self._torch.Tensor) and leaf.dim() > 0 and leaf.shape[0] == size
            if not self._parts:
                self._joined.append(_Joined(leaf, sum(self._sizes)) if follows else [])
            joined = self._joined[place]
            if isinstance(joined, list):
                joined.append(leaf)
            elif follows:
                joined.add(leaf)
            else:
                self._end_at(leaf)
        if not self._parts and any(type(leaf) is int and leaf == size for leaf in leaves):
            self._make_uneven()
        self._shape = shape
        self._parts += 1

    def _make_uneven(self) -> None:
        """A number may be that of a part's samples: the next part is made shorter by one, and is what tells."""
        if len(set(self._sizes)) == 1 and len(self._sizes) > 1 and self._sizes[1] > 1:
            self._sizes[1] -= 1
            self._sizes.append(1)

    def whole(self) -> Any:
        joined = [self._of_numbers(one) if isinstance(one, list) else one.whole() for one in self._joined]
        return output_trees.unflatten(joined, self._shape)

    def _of_numbers(self, leaves: list[Any]) -> Any:
        first = leaves[0]
        if not isinstance(first, self._torch.Tensor):
            if type(first) is int and (samples := self._samples(leaves)):
                return samples
            if first is None or (isinstance(first, (bool, int, float, str)) and all(one == first for one in leaves)):
                return first
            raise NotInParts(f"the network returns a {type(first).__name__}, of which no parts can be put together")
        if first.numel() != 1 or first.dim() > 1 or not first.is_floating_point():
            self._end_at(first)
        self.has_means = True
        shares = [size / sum(self._sizes) for size in self._sizes]
        return sum(leaf * share for leaf, share in zip(leaves, shares))

    def _samples(self, numbers: list[int]) -> int:
        """The whole batch's number of samples, or so many times that, where these are those of its parts; 0: not."""
        sizes, first = self._sizes, numbers[0]
        if not first or any(number * sizes[0] != first * size for number, size in zip(numbers, sizes)):
            return 0
        if len(set(sizes)) == 1 and first != sizes[0]:
            return 0
        if len(set(sizes)) == 1:
            raise NotInParts(f"the network returns {first}, which may be the number of its samples or not")
        return first * sum(sizes) // sizes[0]

    def _end_at(self, leaf: Any) -> None:
        shape = "x".join(map(str, leaf.shape)) or "a single number"
        raise NotInParts(
            f"for {self._sizes[0]} samples the network returns {shape}: its first dimension is not the batch's"
        )


class AlongSequences:
    """Finds that the first dimension is that of sequences: layers that take positions along it get samples along the
    second one, and a part of a batch has fewer.

    Where both are as long as a part, the next part is made shorter by one, and is what tells.
    """

    def __init__(self, torch: Any, module: Any, sizes: list[int]) -> None:
        self._tensor = torch.Tensor
        self._sizes = sizes
        self._part = 0
        self._is_unsure = False
        kinds = (torch.nn.RNNBase, torch.nn.MultiheadAttention)
        self._layers = [layer for layer in module.modules() if isinstance(layer, kinds) and not layer.batch_first]

    @contextmanager
    def next_part(self) -> Iterator[None]:
        hooks = [layer.register_forward_pre_hook(self._look, with_kwargs=True) for layer in self._layers]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()
        if self._is_unsure and self._sizes[self._part] > 1 and self._part + 1 < len(self._sizes):
            self._sizes[self._part + 1] -= 1
            self._sizes.append(1)
        self._is_unsure = False
        self._part += 1

    def _look(self, layer: Any, args: Any, kwargs: Any) -> None:
        given = args[0] if args else kwargs.get("input", kwargs.get("query"))
        if not isinstance(given, self._tensor) or given.dim() != 3:
            return
        size = self._sizes[self._part]
        if given.shape[0] != size:
            return
        if given.shape[1] == size:
            self._is_unsure = self._part == 0
            return
        name = type(layer).__name__
        raise NotInParts(
            f"the first dimension of what the network gets is that of sequences, not of samples: {name} takes it so"
        )


def kept_tensors(module: Any) -> Iterator[tuple[str, int, Any]]:
    """Tensors among the attributes of its modules, and in lists and dictionaries there: where, and which."""
    for part in module.modules():
        for name, value in vars(part).items():
            held = value.values() if type(value) is dict else value if isinstance(value, (list, tuple)) else (value,)
            for one in held:
                if isinstance(one, torch.Tensor) and one.dim():
                    yield f"{type(part).__name__}.{name}", id(one), one


def hooked_in(module: Any) -> str:
    """The class of a module in it whose forward the script has hooked; empty: of none."""
    return next((type(part).__name__ for part in module.modules() if forwards.is_hooked(part)), "")


def check_left(module: Any, before: dict[int, Any]) -> None:
    """Called after the first part: what it left would be that of one part. `before` holds what was there, so that no
    new tensor has its place."""
    for name, which, _ in kept_tensors(module):
        if which not in before:
            raise NotInParts(f"the network keeps a tensor of its forward in {name}, which would be that of one part")


def samples_in(leaves: list[Any], args: Any) -> int:
    """Samples in the first tensor that the network gets; 0: it gets none."""
    if args and isinstance(args[0], (list, tuple)):
        raise NotInParts("the network gets its samples in a list")
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.dim()]
    return int(tensors[0].shape[0]) if tensors else 0


def arguments_of_parts(
    leaves: list[Any], shape: Any, batch: int, sizes: list[int], from_part: int = 0
) -> Iterator[Any]:
    """Arguments and keyword arguments of each, from one on."""
    is_split = [isinstance(leaf, torch.Tensor) and leaf.dim() > 0 and leaf.shape[0] == batch for leaf in leaves]
    start = sum(sizes[:from_part])
    for size in sizes[from_part:] if from_part else sizes:  # the list itself, which may grow meanwhile
        own = [leaf.narrow(0, start, size) if split else leaf for leaf, split in zip(leaves, is_split)]
        yield of_torch.unflatten_tree.get()(own, shape)
        start += size
