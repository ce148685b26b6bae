"""The network works on a batch in parts, whatever the loop around it does: each part runs again in backward.

What GradCache does for contrastive losses (Gao et al. 2021), for a forward of any kind. The script calls its network
with a whole batch and gets the outputs of all of it, so losses over the batch, steps, schedules and what a loop counts
or prints are as without; between, the activations of one part are there at a time. It costs one forward more.

Split are tensors whose first dimension is that of the network's first one. Outputs are put together along it; a number
is taken for a mean over the samples. What a forward leaves behind or draws on the host (counters, numpy's numbers) is
left and drawn once, by the first part; dropout draws for each part on the card. An evaluation that calls the network
as its training does works in parts too, once each. What the outputs do not show is refused: tensors that a forward
keeps in its modules, outputs that do not follow the batch.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import MappingProxyType
from typing import Any

import torch

from vramfit import apply
from vramfit.apply import foreign_forwards, forwards
from vramfit.apply import optimizer_making as making
from vramfit.apply.mixed_samples import effects_of_mixing
from vramfit.apply.run_again import run_again_in_backward
from vramfit.base import events, notes, process
from vramfit.base.split_sizes import sizes_of_parts
from vramfit.contract import notes as said
from vramfit.contract import plans
from vramfit.private import torch as of_torch
from vramfit.steer import errors

ID = "split_forward"
_OBSTACLES = MappingProxyType(
    {
        "compiled": "the model is compiled: its forward would be compiled for a part of the batch",
        "sharded": "parameters are sharded: ranks would gather them for each part",
    }
)
_OF_RANKS = "DistributedDataParallel"
_DEPTH = 2  # of modules within a network that a script may call by themselves: a GAN's two, those of a LightningModule


def _kept_tensors(module: Any) -> Iterator[tuple[str, int, Any]]:
    """Tensors among the attributes of its modules, and in lists and dictionaries there: where, and which."""
    for part in module.modules():
        for name, value in vars(part).items():
            held = value.values() if type(value) is dict else value if isinstance(value, (list, tuple)) else (value,)
            for one in held:
                if isinstance(one, torch.Tensor) and one.dim():
                    yield f"{type(part).__name__}.{name}", id(one), one


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
        self._places: list[tuple[int, int]] = []
        self._ends: list[Any] = []  # of the graphs of parts that have one

    def add(self, part: Any) -> None:
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


class _Outputs:
    """The outputs of all parts, put together as those of the whole batch."""

    def __init__(self, torch: Any, sizes: list[int]) -> None:
        self._torch = torch
        self._sizes = sizes
        self._shape: Any = None
        self._parts = 0
        self._joined: list[Any] = []  # for each output: _Joined, or what each part returned
        self.has_means = False

    def add(self, output: Any) -> None:
        leaves, shape = of_torch.flatten_tree.get()(output)
        if self._parts and (shape != self._shape or len(leaves) != len(self._joined)):
            apply.ended(ID, "the network returns something else for one part of a batch than for another")
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
        self._shape = shape
        self._parts += 1

    def whole(self) -> Any:
        joined = [self._of_numbers(one) if isinstance(one, list) else one.whole() for one in self._joined]
        return of_torch.unflatten_tree.get()(joined, self._shape)

    def _of_numbers(self, leaves: list[Any]) -> Any:
        first = leaves[0]
        if not isinstance(first, self._torch.Tensor):
            if first is None or (isinstance(first, (bool, int, float, str)) and all(one == first for one in leaves)):
                return first
            apply.ended(ID, f"the network returns a {type(first).__name__}, of which no parts can be put together")
        if first.numel() != 1 or first.dim() > 1 or not first.is_floating_point():
            self._end_at(first)
        self.has_means = True
        shares = [size / sum(self._sizes) for size in self._sizes]
        return sum(leaf * share for leaf, share in zip(leaves, shares))

    def _end_at(self, leaf: Any) -> None:
        shape = "x".join(map(str, leaf.shape)) or "a single number"
        apply.ended(
            ID, f"for {self._sizes[0]} samples the network returns {shape}: its first dimension is not the batch's"
        )


class _AlongSequences:
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
        apply.refused(
            ID, f"the first dimension of what the network gets is that of sequences, not of samples: {name} takes it so"
        )


class _Inside(threading.local):
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.calls = 0  # of networks that work on a part: modules in them get that part whole


_inside = process.own(_Inside)


class SplitForward:
    KEEPS = process.ALL

    def __init__(self, torch: Any, parts: int) -> None:
        self._torch = torch
        self._parts = parts
        self._told: set[str] = set()
        self._called: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # with arguments of which shape
        self._seen: weakref.WeakSet[Any] = weakref.WeakSet()
        self._entered: weakref.WeakSet[Any] = weakref.WeakSet()
        self._trained: weakref.WeakSet[Any] = weakref.WeakSet()

    def before_optimizer(self, parameters: list[Any]) -> None:
        """The networks that it trains, and what they are made of: which of these the script calls is not known yet, and
        the first call is to be split already. Whichever is reached first is."""
        models, _ = making.models_of(self._torch, {id(p) for p in parameters if p.requires_grad})
        for model in models:
            for part in _upper_modules(model, _DEPTH):
                if type(part).__name__ == _OF_RANKS:  # counts its forwards and backwards: the network within is split
                    continue
                if part not in self._seen and any(p.requires_grad for p in part.parameters()):
                    self._seen.add(part)
                    forwards.replace(part, self._in_parts)

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        if module in self._entered:
            return
        self._entered.add(module)
        if why := _OBSTACLES.get(foreign_forwards.kind_of(module)):
            apply.refused(ID, why)

    def _in_parts(self, module: Any, forward: Any, *args: Any, **kwargs: Any) -> Any:
        if _inside.calls:
            return forward(*args, **kwargs)
        forward = _of_a_part(forward)  # the first that is reached decides for all in it: rows there may be no samples
        leaves, shape = of_torch.flatten_tree.get()((args, kwargs))
        trains = module.training and self._torch.is_grad_enabled()
        if not (trains or self._is_evaluated(module, leaves, shape)):
            return forward(*args, **kwargs)
        batch = self._batch_of(leaves, args)
        sizes = sizes_of_parts(batch, self._parts)
        if len(sizes) < 2:
            return forward(*args, **kwargs)
        outputs = _Outputs(self._torch, sizes)
        parts = self._parts_of(leaves, shape, batch, sizes)
        if trains:
            self._called[module] = shape
            name = type(module).__name__
            apply.applied(
                ID, f"{name} works on its batch of {batch} in {len(sizes)} parts, which run again in backward"
            )
            has_changed = self._train(module, forward, parts, outputs, self._look_out(module, sizes))
            whole = outputs.whole()
            self._tell(module, outputs.has_means, has_changed)
            for text, what in effects_of_mixing(module, sizes[0]):
                self._effect(True, text, what)
            return whole
        for part_args, part_kwargs in parts:
            outputs.add(forward(*part_args, **part_kwargs))
        return outputs.whole()

    def _is_evaluated(self, module: Any, leaves: list[Any], shape: Any) -> bool:
        """Whether it is evaluated as it is trained: with a cache or a state it may come to something else for each
        part."""
        plain = (self._torch.Tensor, bool, int, float, str, type(None))
        return not module.training and self._called.get(module) == shape and all(isinstance(x, plain) for x in leaves)

    def _look_out(self, module: Any, sizes: list[int]) -> _AlongSequences | None:
        """In the first step of a network."""
        if module in self._trained:
            return None
        self._trained.add(module)
        return _AlongSequences(self._torch, module, sizes)

    def _train(
        self, module: Any, forward: Any, parts: Iterator[Any], outputs: _Outputs, sequences: _AlongSequences | None
    ) -> bool:
        """Whether the forward left anything beside its outputs."""
        before = {which: one for _, which, one in _kept_tensors(module)}  # held, so that no new one has its place
        drawn, state = self._random_states(), None
        for args, kwargs in parts:
            is_first = state is None
            with state.as_before() if state else nullcontext(), sequences.next_part() if sequences else nullcontext():
                try:
                    output, state = run_again_in_backward(ID, module, forward, args, kwargs, settled=state)
                except Exception as error:
                    if is_first and not errors.is_oom(error):
                        self._end_at(module, error)
                    raise
            outputs.add(output)
            if is_first:
                self._look_at(module, before)
                draws = any(not self._torch.equal(one, now) for one, now in zip(drawn, self._random_states()))
                name = type(module).__name__
                self._effect(
                    draws, f"what {name} draws (dropout) is drawn for each part, so other numbers than for a batch"
                )
        return state is not None and state.has_changed

    def _end_at(self, module: Any, error: Exception) -> None:
        """What else it gets is of the whole batch, and not along the first dimension: a state, edges of a graph."""
        words = (str(error).splitlines() or [""])[0]
        apply.ended(ID, f"{type(module).__name__} fails on a part of its batch: {type(error).__name__}: {words}")

    def _random_states(self) -> list[Any]:
        states = [self._torch.get_rng_state()]
        if self._torch.cuda.is_initialized():
            states.append(self._torch.cuda.get_rng_state())
        return states

    def _batch_of(self, leaves: list[Any], args: Any) -> int:
        """Samples in the first tensor that the network gets."""
        if args and isinstance(args[0], (list, tuple)):
            apply.refused(ID, "the network gets its samples in a list")
        tensors = [leaf for leaf in leaves if isinstance(leaf, self._torch.Tensor) and leaf.dim()]
        return int(tensors[0].shape[0]) if tensors else 0

    def _parts_of(self, leaves: list[Any], shape: Any, batch: int, sizes: list[int]) -> Iterator[Any]:
        """Arguments and keyword arguments of each."""
        tensor = self._torch.Tensor
        is_split = [isinstance(leaf, tensor) and leaf.dim() > 0 and leaf.shape[0] == batch for leaf in leaves]
        start = 0
        for size in sizes:
            own = [leaf.narrow(0, start, size) if split else leaf for leaf, split in zip(leaves, is_split)]
            yield of_torch.unflatten_tree.get()(own, shape)
            start += size

    def _look_at(self, module: Any, before: dict[int, Any]) -> None:
        """Called after the first part: what it left would be that of one part."""
        for name, which, _ in _kept_tensors(module):
            if which not in before:
                apply.ended(ID, f"the network keeps a tensor of its forward in {name}, which would be that of one part")

    def _tell(self, module: Any, has_means: bool, leaves_more: bool) -> None:
        name = type(module).__name__
        self._effect(has_means, f"a number that {name} returns is taken for a mean over its samples")
        self._effect(
            leaves_more, f"what {name} counts, keeps or draws on the host is that of the first part of a batch"
        )

    def _effect(self, is_so: bool, text: str, what: said.EffectKind = "other") -> None:
        if is_so and text not in self._told:
            self._told.add(text)
            notes.note(said.PlanEffect(id=ID, text=text, what=what))


def _upper_modules(module: Any, depth: int) -> Iterator[Any]:
    yield module
    if depth:
        for child in module.children():
            yield from _upper_modules(child, depth - 1)


def _of_a_part(forward: Any) -> Any:
    """The forward that counts as inside, whole or in both runs of a part."""

    def forward_of_a_part(*args: Any, **kwargs: Any) -> Any:
        _inside.calls += 1
        try:
            return forward(*args, **kwargs)
        finally:
            _inside.calls -= 1

    return forward_of_a_part


def install(torch: Any, options: plans.SplitForward) -> None:
    technique = process.own(SplitForward, torch, options.parts)
    making.before_made(torch, technique.before_optimizer)
    events.root_enter.listen(technique.enter)
