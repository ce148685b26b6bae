"""Activation checkpointing of chosen modules: their forward runs again in backward instead of keeping its activations.

Random state is restored for the second run, so dropout repeats. Batch norm would update its running statistics twice;
in the second run they are left alone. What else a forward changes or draws from is as it was before the first run
(forward_state). Inputs are those of the first run: a list that grew since is as it was then, and
a tensor that was changed in place is an error of autograd's. Results equal those without checkpointing.
A module that talks to other ranks is not run again: the plan is refused.

With `keep` "products" the results of products of matrices and of convolutions stay from the first run, and what lies
between them is worked out again (PyTorch's selective activation checkpointing).
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from itertools import chain
from typing import Any

from vramfit import apply
from vramfit.apply import forwards
from vramfit.apply.forward_state import ForwardState
from vramfit.apply.named_modules import NamedModules
from vramfit.base import events, notes, process
from vramfit.contract import notes as said
from vramfit.observe import scopes
from vramfit.private import operators as of_operators
from vramfit.private import torch as of_torch

ID = "checkpoint"
_FIRST_SELECTIVE = (2, 4)  # create_selective_checkpoint_contexts


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
def _settles(state: ForwardState) -> Iterator[None]:
    """Around the first run."""
    yield
    if written := state.settle():
        apply.refused(ID, f"a module that it would run again writes to its own {written}, and would do so twice")


class _Calls:
    """A forward as checkpoint() calls it: first with what the module was given, then with the same as it was then.

    checkpoint() keeps tensors among its own arguments safe from changes, and random state of their devices; it looks
    into neither named arguments nor lists. So it gets all of them side by side, and `shape` puts them in their places.
    Each is there once: a module that asks whether its query is its key gets the same answer the second time.
    """

    def __init__(self, forward: Any, args: Any, kwargs: Any) -> None:
        self.forward = forward
        self.given: tuple[Any, Any] | None = (args, kwargs)
        leaves, self.shape = of_torch.flatten_tree.get()((args, kwargs))
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


def _watches_ranks(torch: Any) -> AbstractContextManager[Any]:
    """Refuses a module that talks to other ranks: in a second run they might not be there to answer."""
    distributed = torch.distributed
    if not (distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1):
        return nullcontext()

    class Watch(of_torch.dispatch_mode.get()):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func.namespace in ("c10d", of_operators.COLLECTIVES):
                apply.refused(ID, f"a module that it would run again talks to other ranks ({func.__name__})")
            return func(*args, **(kwargs or {}))

    return Watch()


# Operators of `torch.ops.aten` that multiply two matrices or convolve. Batched products are mostly those within
# attention, whose results are large for the work that they take; src/liveness/lifetimes.cc counts the same.
_PRODUCTS = ("mm", "addmm", of_operators.scaled_product.name, "convolution")


def _kept_products(torch: Any) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """For the first run, which stores them, and for the second, which takes them."""
    aten = torch.ops.aten
    kept = [getattr(aten, name).default for name in _PRODUCTS if hasattr(aten, name)]
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


def _run_again_in_backward(module: Any, forward: Any, *args: Any, **kwargs: Any) -> Any:
    """A module's forward, checkpointed while it trains. Its hooks and its place in the model stay as they are."""
    import torch
    import torch.utils.checkpoint

    if not (module.training and torch.is_grad_enabled()):
        return forward(*args, **kwargs)
    norms = [m for m in module.modules() if isinstance(m, of_torch.batch_norm.get())]
    state = ForwardState(module, norms)

    def contexts() -> tuple[Any, Any]:
        first = _both(_settles(state), _watches_ranks(torch))
        if not _state.keeps_products:
            return first, _EachTime(lambda: _both(_frozen_statistics(norms), state.as_before()))
        storing, taking = _kept_products(torch)
        second = _both(_frozen_statistics(norms), state.as_before())
        return _both(first, storing), _both(second, taking)

    calls = _Calls(forward, args, kwargs)
    leaves, calls.leaves = calls.leaves, []  # checkpoint() holds them, as long as they are needed
    anchor = _anchor(torch, module, leaves)
    return torch.utils.checkpoint.checkpoint(calls, anchor, *leaves, use_reentrant=False, context_fn=contexts)


def _tell_hooks(blocks: dict[str, Any]) -> None:
    for name, block in blocks.items():
        inside = [part for part in block.modules() if part is not block]
        if any(of_torch.forward_hooks.of(part) or of_torch.forward_pre_hooks.of(part) for part in inside):
            text = f"hooks of modules within {name} are called in both of its runs: what they note is there twice"
            notes.note(said.PlanEffect(id=ID, text=text))
            return


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.keeps_products = False


_state = process.own(_State)


class Checkpoint:
    KEEPS = process.ALL

    def __init__(self, options: dict[str, Any]) -> None:
        self.named = NamedModules(ID, [str(name) for name in options.get("modules", [])])

    def in_child(self) -> None:
        self.named.in_child()

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        found = self.named.find(module)
        if not found:
            return
        if type(module).__name__ == "OptimizedModule":
            apply.refused(ID, "the model is compiled: checkpoint its blocks in the script, before torch.compile")
            return
        for block in found.values():
            forwards.replace(block, _run_again_in_backward)
        _tell_hooks(found)
        config = getattr(scopes.unwrap(module), "config", None)
        if getattr(config, "use_cache", None):
            config.use_cache = False  # a cache filled twice would be wrong; transformers does the same
        names = self.named.names
        but = " but for their products" if _state.keeps_products else ""
        apply.applied(ID, f"{len(names)} modules run again in backward{but}: {', '.join(names[:8])}")


def install(torch: Any, options: dict[str, Any]) -> None:
    _state.keeps_products = options.get("keep") == "products"
    if _state.keeps_products and tuple(map(int, torch.__version__.split(".")[:2])) < _FIRST_SELECTIVE:
        apply.refused(ID, f"PyTorch {torch.__version__} has no selective checkpointing: 2.4 and later have")
        return
    technique = process.own(Checkpoint, options)
    events.root_enter.listen(technique.enter)
    atexit.register(technique.named.at_end)
