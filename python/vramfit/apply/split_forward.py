"""The network works on a batch in parts, whatever the loop around it does: each part runs again in backward.

What GradCache does for contrastive losses (Gao et al. 2021), for a forward of any kind. The script calls its network
with a whole batch and gets the outputs of all of it, so losses over the batch, steps, schedules and what a loop counts
or prints are as without; between, the activations of one part are there at a time. It costs one forward more.

Split are tensors whose first dimension is that of the network's first one. Outputs are put together along it; a number
is taken for a mean over the samples. What a forward leaves behind or draws on the host (counters, numpy's numbers) is
left and drawn once, by the first part; dropout draws for each part on the card. An evaluation that calls the network
as its training does works in parts too, once each. What the outputs do not show is refused: tensors that a forward
keeps in its modules, outputs that do not follow the batch; and, where there are numbers, samples that come to something
else among others.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import MappingProxyType
from typing import Any

from vramfit import apply
from vramfit.apply import foreign_forwards, forwards, output_trees, sample_alone
from vramfit.apply import optimizer_making as making
from vramfit.apply.forward_state import ForwardState
from vramfit.apply.mixed_samples import effects_of_mixing
from vramfit.apply.parts_of_batch import (
    HANGS,
    OBSTACLES,
    OF_RANKS,
    AlongSequences,
    NotInParts,
    Outputs,
    arguments_of_parts,
    check_left,
    failure_on_part,
    is_in_part,
    kept_tensors,
    of_a_part,
    samples_in,
)
from vramfit.apply.run_again import SCRIPTED, as_in_first_run, run_again_in_backward
from vramfit.base import events, notes, process
from vramfit.base.split_sizes import sizes_of_parts
from vramfit.contract import notes as said
from vramfit.contract import plans
from vramfit.observe import batch_norms
from vramfit.steer import errors

ID = "split_forward"
_OBSTACLES = MappingProxyType({**OBSTACLES, "scripted": SCRIPTED})
_DEPTH = 2  # of modules within a network that a script may call by themselves: a GAN's two, those of a LightningModule


class _ByChance(Exception):
    """A forward draws random numbers of its own."""


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
                if type(part).__name__ == OF_RANKS:  # counts its forwards and backwards: the network within is split
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
        if is_in_part():
            return forward(*args, **kwargs)
        try:
            return self._split(module, forward, args, kwargs)
        except NotInParts as why:
            apply.ended(ID, str(why))

    def _split(self, module: Any, forward: Any, args: Any, kwargs: Any) -> Any:
        forward = of_a_part(forward)  # the first that is reached decides for all in it: rows there may be no samples
        leaves, shape = output_trees.leaves_of((args, kwargs))
        trains = module.training and self._torch.is_grad_enabled()
        if not (trains or self._is_evaluated(module, leaves, shape)):
            return forward(*args, **kwargs)
        batch = samples_in(leaves, args)
        sizes = sizes_of_parts(batch, self._parts)
        if len(sizes) < 2:
            return forward(*args, **kwargs)
        outputs = Outputs(self._torch, sizes)
        parts = arguments_of_parts(leaves, shape, batch, sizes)
        if trains:
            self._called[module] = shape
            name = type(module).__name__
            apply.applied(
                ID, f"{name} works on its batch of {batch} in {len(sizes)} parts, which run again in backward"
            )
            sequences = self._look_out(module, sizes)
            state = self._train(module, forward, parts, outputs, sequences)
            if sequences is not None and apply.has_values() and not batch_norms.train_in(module):
                compared = functools.partial(arguments_of_parts, leaves, shape, batch)
                self._compare(module, forward, state, sizes[0], compared)
            whole = outputs.whole()
            self._tell(module, outputs.has_means, state.has_changed)
            for text, what in effects_of_mixing(module, sizes[0]):
                self._effect(True, text, what)
            return whole
        for part_args, part_kwargs in parts:
            outputs.add(forward(*part_args, **part_kwargs))
        return outputs.whole()

    def _is_evaluated(self, module: Any, leaves: list[Any], shape: Any) -> bool:
        """Whether it is evaluated as it is trained: with a cache or a state it may come to something else for each
        part."""
        plain = (self._torch.Tensor, self._torch.Size, bool, int, float, str, type(None))
        return not module.training and self._called.get(module) == shape and all(isinstance(x, plain) for x in leaves)

    def _look_out(self, module: Any, sizes: list[int]) -> AlongSequences | None:
        """In the first step of a network."""
        if module in self._trained:
            return None
        self._trained.add(module)
        return AlongSequences(self._torch, module, sizes)

    def _train(
        self, module: Any, forward: Any, parts: Iterator[Any], outputs: Outputs, sequences: AlongSequences | None
    ) -> ForwardState:
        """What the forward left beside its outputs."""
        before = {which: one for _, which, one in kept_tensors(module)}  # held, so that no new one has its place
        drawn, state = self._random_states(), None
        for args, kwargs in parts:
            is_first = state is None
            with state.as_before() if state else nullcontext(), sequences.next_part() if sequences else nullcontext():
                try:
                    output, state = run_again_in_backward(ID, module, forward, args, kwargs, settled=state)
                except Exception as error:
                    if is_first and not isinstance(error, NotInParts) and not errors.is_oom(error):
                        self._end_at(module, error)
                    raise
            outputs.add(output)
            if is_first:
                check_left(module, before)
                draws = any(not self._torch.equal(one, now) for one, now in zip(drawn, self._random_states()))
                name = type(module).__name__
                self._effect(
                    draws, f"what {name} draws (dropout) is drawn for each part, so other numbers than for a batch"
                )
        assert state is not None  # there are two parts at least
        return state

    def _compare(
        self, module: Any, forward: Any, state: ForwardState, size: int, arguments: Callable[..., Iterator[Any]]
    ) -> None:
        """A sample of the first part comes to the same among the others and by itself, but for chance; where parts have
        a sample each, of the first two. Batch norms that train are told of already."""
        size = max(size, 2)
        try:
            among = self._compute_again(module, forward, state, next(arguments([size])))
            for place in sample_alone.places_of(among, size):
                alone = self._compute_again(module, forward, state, next(arguments([place, 1], 1)))
                one, expected = sample_alone.sample_of(alone, 0), sample_alone.sample_of(among, place)
                if not sample_alone.is_same(module, one, expected):
                    raise NotInParts(HANGS.format(type(module).__name__))
        except _ByChance:
            return
        except Exception as error:
            if not errors.is_oom(error):
                raise
            self._effect(True, f"what {type(module).__name__} makes of a sample was not compared: it does not fit")

    def _compute_again(self, module: Any, forward: Any, state: ForwardState, given: Any) -> Any:
        args, kwargs = given
        with as_in_first_run(module, state), _without_dropout(module), self._torch.no_grad():
            drawn = self._random_states()
            output = forward(*args, **kwargs)
            if any(not self._torch.equal(one, now) for one, now in zip(drawn, self._random_states())):
                raise _ByChance
        return output

    def _end_at(self, module: Any, error: Exception) -> None:
        """What else it gets is of the whole batch, and not along the first dimension: a state, edges of a graph."""
        apply.ended(ID, failure_on_part(module, error))

    def _random_states(self) -> list[Any]:
        states = [self._torch.get_rng_state()]
        if self._torch.cuda.is_initialized():
            states.append(self._torch.cuda.get_rng_state())
        return states

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


@contextmanager
def _without_dropout(module: Any) -> Iterator[None]:
    """What is by chance would hide what hangs on other samples."""
    drops = [part for part in module.modules() if "Dropout" in type(part).__name__ and part.training]
    for part in drops:
        vars(part)["training"] = False
    try:
        yield
    finally:
        for part in drops:
            vars(part)["training"] = True


def _upper_modules(module: Any, depth: int) -> Iterator[Any]:
    yield module
    if depth:
        for child in module.children():
            yield from _upper_modules(child, depth - 1)


def install(torch: Any, options: plans.SplitForward) -> None:
    technique = process.own(SplitForward, torch, options.parts)
    making.before_made(torch, technique.before_optimizer)
    events.root_enter.listen(technique.enter)
