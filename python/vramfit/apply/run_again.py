"""Forwards that run again in backward instead of keeping their activations (torch.utils.checkpoint).

Random state is restored for the second run, so dropout repeats. Batch norm would update its running statistics twice;
in the second run they are left alone. What else a forward changes or draws from is as it was before the first run
(forward_state). Inputs are those of the first run: a list that grew since is as it was then, and
a tensor that was changed in place is an error of autograd's. Results equal those without.
A module that talks to other ranks is not run again: the plan is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from itertools import chain
from typing import Any

from vramfit import apply
from vramfit.apply.forward_state import ForwardState
from vramfit.private import operators as of_operators
from vramfit.private import torch as of_torch

SCRIPTED = "TorchScript runs the network: its forward can't be stopped where a second run has all that is needed"
_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


@contextmanager
def _frozen_statistics(norms: list[Any]) -> Iterator[None]:
    """Batch norms update copies of their running statistics. (Without any they would save fewer tensors than before,
    which checkpoint() takes for a different computation.)"""
    kept = []
    for norm in norms:
        for name in _STATISTICS:
            buffer = of_torch.buffers.of(norm, {}).get(name)
            if norm.training and buffer is not None:
                kept.append((norm, name, buffer))
                of_torch.buffers.of(norm)[name] = buffer.clone()
    try:
        yield
    finally:
        for norm, name, buffer in kept:
            of_torch.buffers.of(norm)[name] = buffer


@contextmanager
def _settles(technique: str, state: ForwardState) -> Iterator[None]:
    """Around the first run."""
    with state.first_run():
        yield
    if written := state.settle():
        apply.refused(technique, f"a module that it would run again writes to its own {written}, and would do so twice")


@contextmanager
def as_in_first_run(module: Any, state: ForwardState) -> Iterator[None]:
    """Around a run that is to leave nothing: it finds what the first one found, random numbers too."""
    import torch

    norms = [part for part in module.modules() if isinstance(part, of_torch.batch_norm.get())]
    devices = {each.device.index for each in chain(module.parameters(), module.buffers()) if each.is_cuda}
    with torch.random.fork_rng(sorted(devices)), _frozen_statistics(norms), state.as_before():
        yield


class _Calls:
    """A forward as checkpoint() calls it: first with what the module was given, then with the same as it was then.

    checkpoint() keeps tensors among its own arguments safe from changes, and random state of their devices; it looks
    into neither named arguments nor lists. So it gets all of them side by side, and `shape` puts them in their places.
    Each is there once: a module that asks whether its query is its key gets the same answer the second time.
    """

    def __init__(self, forward: Any, args: Any, kwargs: Any) -> None:
        from vramfit.apply import output_trees  # which imports torch

        self.forward = forward
        self.given: tuple[Any, Any] | None = (args, kwargs)
        leaves, self.shape = output_trees.leaves_of((args, kwargs))
        self.leaves = list({id(leaf): leaf for leaf in leaves}.values())
        numbers = {id(leaf): number for number, leaf in enumerate(self.leaves)}
        self.places = [numbers[id(leaf)] for leaf in leaves]

    def __call__(self, anchor: Any, *leaves: Any) -> Any:
        if self.given is not None:
            args, kwargs = self.given
            self.given = None
        else:
            args, kwargs = of_torch.unflatten_tree.get()([leaves[place] for place in self.places], self.shape)
        return self.forward(*args, **kwargs)


def _anchor(torch: Any, module: Any, leaves: list[Any]) -> Any:
    """A tensor of the device that the module is on, where its inputs don't tell it: its random state is kept too."""
    if any(isinstance(leaf, torch.Tensor) and leaf.is_cuda for leaf in leaves):
        return None
    state = chain(module.parameters(), module.buffers())
    return next((torch.empty(0, device=tensor.device) for tensor in state if tensor.is_cuda), None)


def _watches_ranks(torch: Any, technique: str) -> AbstractContextManager[Any]:
    """Refuses a module that talks to other ranks: in a second run they might not be there to answer."""
    distributed = torch.distributed
    if not (distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1):
        return nullcontext()

    class Watch(of_torch.dispatch_mode.get()):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if of_torch.namespace.of(func) in ("c10d", of_operators.COLLECTIVES):
                apply.refused(technique, f"a module that it would run again talks to other ranks ({func.__name__})")
            return func(*args, **(kwargs or {}))

    return Watch()


# Operators of `torch.ops.aten` that multiply two matrices or convolve. Batched products are mostly those within
# attention, whose results are large for the work that they take; src/liveness/lifetimes.cc counts the same, and a
# patched source keeps the same (python/vramfit/patch/helpers.py).
PRODUCTS = ("mm", "addmm", of_operators.scaled_product.name, "convolution")


def _kept_products(torch: Any) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Contexts for the first run, which stores products, and for the second, which takes them."""
    aten = torch.ops.aten
    kept = [getattr(aten, name).default for name in PRODUCTS if hasattr(aten, name)]
    return torch.utils.checkpoint.create_selective_checkpoint_contexts(kept)


@contextmanager
def _both(first: AbstractContextManager[Any], second: AbstractContextManager[Any]) -> Iterator[None]:
    with ExitStack() as entered:
        entered.enter_context(first)
        entered.enter_context(second)
        yield


class _EachTime:
    """A context that is made anew whenever it is entered: a graph that is kept is gone through twice, and each time
    the forward runs again."""

    def __init__(self, make: Callable[[], AbstractContextManager[Any]]) -> None:
        self._make = make
        self._entered: list[AbstractContextManager[Any]] = []

    def __enter__(self) -> None:
        context = self._make()
        context.__enter__()
        self._entered.append(context)

    def __exit__(self, *error: Any) -> Any:
        return self._entered.pop().__exit__(*error)


def run_again_in_backward(
    technique: str,
    module: Any,
    forward: Any,
    args: Any,
    kwargs: Any,
    keeps_products: bool = False,
    settled: ForwardState | None = None,
) -> tuple[Any, ForwardState]:
    """What a training module's forward returns, whose graph asks for a second run; and what that run finds as it was.

    `technique` is the one that is refused where the module can't run twice. The module's hooks and its place in the
    model stay as they are. `settled`: of an earlier run, as before which this one runs too.
    """
    import torch
    import torch.utils.checkpoint

    norms = [m for m in module.modules() if isinstance(m, of_torch.batch_norm.get())]
    state = settled or ForwardState(module, norms)

    def contexts() -> tuple[Any, Any]:
        found = nullcontext() if settled else _settles(technique, state)
        first = _both(found, _watches_ranks(torch, technique))
        if not keeps_products:
            return first, _EachTime(lambda: _both(_frozen_statistics(norms), state.as_before()))
        storing, taking = _kept_products(torch)
        second = _both(_frozen_statistics(norms), state.as_before())
        return _both(first, storing), _both(second, taking)

    calls = _Calls(forward, args, kwargs)
    leaves, calls.leaves = calls.leaves, []  # checkpoint() holds them, as long as they are needed
    anchor = _anchor(torch, module, leaves)
    result = torch.utils.checkpoint.checkpoint(calls, anchor, *leaves, use_reentrant=False, context_fn=contexts)
    return result, state
