"""An evaluation's network works on its batch in parts, one after the other, whatever makes the batches.

For evaluations whose batches come from no loader that could make smaller ones: images that a script stacks itself,
windows of a recording. The script calls its network with a whole batch and gets the outputs of all of it; the training
is not touched. A network is found when it is called in eval mode without gradients, by nothing but the script.

The outputs are those of the whole batch where no sample hangs on another. What looks otherwise is refused, and the
batch is evaluated whole: batch norms that train, tables of all pairs of samples, sequences along the first dimension,
tensors that a forward keeps.
"""

from __future__ import annotations

import functools
import weakref
from contextlib import nullcontext
from typing import Any

from vramfit import apply
from vramfit.apply import foreign_forwards, forwards, output_trees, sample_alone
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
    hooked_in,
    is_in_part,
    kept_tensors,
    of_a_part,
    samples_in,
)
from vramfit.base import notes, process
from vramfit.base.split_sizes import sizes_of_parts
from vramfit.contract import notes as said
from vramfit.contract import plans
from vramfit.observe import batch_norms, phases
from vramfit.private import torch as of_torch
from vramfit.steer import errors

ID = "split_evaluation"


class SplitEvaluation:
    KEEPS = process.ALL

    def __init__(self, torch: Any, parts: int) -> None:
        self._torch = torch
        self._parts = parts
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()
        self._looked_at: weakref.WeakSet[Any] = weakref.WeakSet()
        self._whole: weakref.WeakSet[Any] = weakref.WeakSet()  # networks that can't work in parts

    def before_call(self, module: Any) -> None:
        """Before any module's call: the forward of a network that the script evaluates is another from here on."""
        if module in self._known or phases.is_inside_module() or not self._is_evaluated(module):
            return
        if type(module).__name__ == OF_RANKS:  # ranks keep step by its calls: the network within is split
            module = module.module
        if module not in self._known and next(module.parameters(), None) is not None:
            self._known.add(module)
            forwards.replace(module, self._in_parts)

    def _is_evaluated(self, module: Any) -> bool:
        return not (module.training or self._torch.is_grad_enabled())

    def _in_parts(self, module: Any, forward: Any, *args: Any, **kwargs: Any) -> Any:
        if is_in_part() or module in self._whole or not self._is_evaluated(module):
            return forward(*args, **kwargs)
        try:
            return self._split(module, forward, args, kwargs)
        except NotInParts as why:
            self._whole.add(module)
            apply.refused(ID, str(why))
        return forward(*args, **kwargs)

    def _split(self, module: Any, forward: Any, args: Any, kwargs: Any) -> Any:
        leaves, shape = output_trees.leaves_of((args, kwargs))
        plain = (self._torch.Tensor, self._torch.Size, bool, int, float, str, type(None))
        if not all(isinstance(leaf, plain) for leaf in leaves):  # a cache, a state: of the samples before
            return forward(*args, **kwargs)
        batch = samples_in(leaves, args)
        sizes = sizes_of_parts(batch, self._parts)
        if len(sizes) < 2:
            return forward(*args, **kwargs)
        is_first = module not in self._looked_at
        if is_first:
            self._look_at(module)
            _make_uneven(sizes)
        sequences = AlongSequences(self._torch, module, sizes) if is_first else None
        before = {which: one for _, which, one in kept_tensors(module)} if is_first else {}
        outputs = Outputs(self._torch, sizes)
        buffers = _writes_to_buffers(module) if is_first else []
        known: dict[int, list[Any]] = {}  # numbers of samples of the first part, by place
        for number, (part_args, part_kwargs) in enumerate(arguments_of_parts(leaves, shape, batch, sizes)):
            with sequences.next_part() if sequences else nullcontext():
                output = _compute(module, forward, part_args, part_kwargs, is_first)
            outputs.add(output)
            if is_first and apply.has_values() and number <= (sizes[0] == 1):
                places = sample_alone.places_of(output, sizes[number])
                known.update({number + place: sample_alone.sample_of(output, place) for place in places})
            if is_first and number == 0:
                check_left(module, before)
                if buffers != _writes_to_buffers(module):
                    raise NotInParts(f"{type(module).__name__} writes to its buffers in this evaluation")
        whole = outputs.whole()
        if outputs.has_means:
            raise NotInParts(f"{type(module).__name__} returns a number for its batch")
        compared = [([2], 0)] if sizes[0] == 1 else [([place, 1], 1) for place in known]
        for given_sizes, from_part in compared if known else ():
            given = next(arguments_of_parts(leaves, shape, batch, given_sizes, from_part))
            expected = known if sizes[0] == 1 else {0: known[given_sizes[0]]}
            self._compare(expected, module, forward, given, is_alone=sizes[0] > 1)
        self._looked_at.add(module)
        apply.applied(ID, f"{type(module).__name__} evaluates its batch of {batch} in {len(sizes)} parts")
        return whole

    def _compare(self, known: dict[int, list[Any]], module: Any, forward: Any, given: Any, is_alone: bool) -> None:
        """A sample of the first part by itself (`is_alone`) comes to what it came to among the others: with statistics
        over a batch, with places in it or by chance it would not. Where parts have a sample each, the first two are
        worked out once more, together.

        `known`: numbers of samples as a part put them out, by their places in what is compared. `given`: what the
        network gets for it."""
        args, kwargs = given
        try:
            output = _compute(module, forward, args, kwargs, True)
        except Exception as error:
            if is_alone or not errors.is_oom(error):
                raise
            text = f"what {type(module).__name__} makes of a sample was not compared: two at once do not fit"
            notes.note(said.PlanEffect(id=ID, text=text, what="other"))
            return
        for place, expected in known.items():
            if not sample_alone.is_same(module, sample_alone.sample_of(output, place), expected):
                raise NotInParts(HANGS.format(type(module).__name__))

    def _look_at(self, module: Any) -> None:
        if why := OBSTACLES.get(foreign_forwards.kind_of(module)):
            raise NotInParts(why)
        if batch_norms.train_in(module):
            raise NotInParts("a batch norm averages over the samples of a batch in this evaluation")
        if hooked := hooked_in(module):
            raise NotInParts(f"hooks of the script are called with parts of a batch: a {hooked} has some")


def _writes_to_buffers(module: Any) -> list[tuple[int, int]]:
    """Each buffer by itself, and how often it was written to."""
    return [(id(buffer), of_torch.writes.of(buffer, 0)) for buffer in module.buffers() if not buffer.is_inference()]


def _make_uneven(sizes: list[int]) -> None:
    """Parts of two sizes show whether what comes out has the batch along more than its first dimension."""
    if min(sizes) == max(sizes) > 1:
        sizes[0] += 1
        sizes[-1] -= 1


def _compute(module: Any, forward: Any, args: Any, kwargs: Any, is_first: bool) -> Any:
    try:
        return of_a_part(forward)(*args, **kwargs)
    except Exception as error:
        if not is_first or isinstance(error, NotInParts) or errors.is_oom(error):
            raise
        raise NotInParts(failure_on_part(module, error)) from error


def install(torch: Any, options: plans.SplitEvaluation) -> None:
    technique = process.own(SplitEvaluation, torch, options.parts)
    module_class = torch.nn.Module
    original = module_class.__call__

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not (torch.compiler.is_compiling() or torch.jit.is_tracing()):
            technique.before_call(self)
        return original(self, *args, **kwargs)

    module_class.__call__ = call
