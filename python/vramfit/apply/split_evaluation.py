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
from vramfit.apply import foreign_forwards, forwards, output_trees
from vramfit.apply.parts_of_batch import (
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


# Sums in another order differ by so much of an output's largest number: in float32, in fewer bits.
_FINE, _COARSE, _TINY = 1e-3, 0.05, 1e-6
_SINGLE = 4  # bytes


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
        leaves, shape = of_torch.flatten_tree.get()((args, kwargs))
        plain = (self._torch.Tensor, bool, int, float, str, type(None))
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
        known: list[Any] | None = None
        for number, (part_args, part_kwargs) in enumerate(arguments_of_parts(leaves, shape, batch, sizes)):
            with sequences.next_part() if sequences else nullcontext():
                output = _compute(module, forward, part_args, part_kwargs, is_first)
            outputs.add(output)
            if is_first and number == (sizes[0] == 1) and apply.has_values():
                known = self._sample_of(output, sizes[0] - 1)
            if is_first and number == 0:
                check_left(module, before)
                if buffers != _writes_to_buffers(module):
                    raise NotInParts(f"{type(module).__name__} writes to its buffers in this evaluation")
        whole = outputs.whole()
        if outputs.has_means:
            raise NotInParts(f"{type(module).__name__} returns a number for its batch")
        if known is not None:
            compared, from_part = ([2], 0) if sizes[0] == 1 else ([sizes[0] - 1, 1], 1)
            given = next(arguments_of_parts(leaves, shape, batch, compared, from_part))
            self._compare(known, module, forward, given, is_alone=sizes[0] > 1)
        self._looked_at.add(module)
        apply.applied(ID, f"{type(module).__name__} evaluates its batch of {batch} in {len(sizes)} parts")
        return whole

    def _numbers_in(self, output: Any) -> list[Any]:
        leaves = output_trees.flatten(output)[0]
        return [one for one in leaves if isinstance(one, self._torch.Tensor) and one.is_floating_point() and one.dim()]

    def _sample_of(self, output: Any, place: int) -> list[Any]:
        return [one[place : place + 1].clone() for one in self._numbers_in(output)]

    def _compare(self, known: list[Any], module: Any, forward: Any, given: Any, is_alone: bool) -> None:
        """The last sample of the first part by itself (`is_alone`) comes to what it came to among the others: with
        statistics over a batch, with places in it or by chance it would not. Where parts have a sample each, the
        second one is worked out once more, behind the first.

        `known`: numbers of that sample as a part put them out. `given`: what the network gets for the comparison."""
        args, kwargs = given
        try:
            output = _compute(module, forward, args, kwargs, True)
        except Exception as error:
            if is_alone or not errors.is_oom(error):
                raise
            text = f"what {type(module).__name__} makes of a sample was not compared: two at once do not fit"
            notes.note(said.PlanEffect(id=ID, text=text, what="other"))
            return
        for one, expected in zip(self._sample_of(output, 0 if is_alone else 1), known):
            if one.shape == expected.shape and one.numel() == 0:
                continue
            is_coarse = one.element_size() < _SINGLE or self._torch.is_autocast_enabled()
            most = (_COARSE if is_coarse else _FINE) * float(expected.float().abs().max()) + _TINY
            if one.shape != expected.shape or bool((one.float() - expected.float()).abs().max() > most):
                raise NotInParts(
                    f"what {type(module).__name__} makes of a sample hangs on the others of its batch, or on chance"
                )

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
