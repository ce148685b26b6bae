"""The scale of fp16 losses, within one backward pass: scaled where it begins, unscaled where it ends.

    loss --x S--> backward through fp16 --> gradient of a leaf --x 1/S--> added to leaf.grad

The graph's leaves are found before each backward pass and divide what reaches them, so `.grad` holds true gradients at
every moment the script can look: it may clip, log, edit, keep, zero or average them, use a GradScaler of its own
(enabled or not), several losses, several optimizers, one backward pass or ten per step; nothing has to be recognised.
S is a power of two, so scaling loses nothing.

A pass that overflowed is known at its end, for each optimizer; the optimizer's next step is skipped and S halved, and S
doubles after 2000 good steps: the rules of torch.amp.GradScaler.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from vramfit import verify
from vramfit.apply.graph_leaves import leaves_of
from vramfit.private import torch as of_torch
from vramfit.private.names import need

need(of_torch.find_overflow, of_torch.values_of_sparse)


_FIRST = 65536.0
_FIRST_OF_FEW = 1024.0  # where a few steps are compared, and none may be lost to finding the scale
_GROWTH_STEPS = 2000
_LEAST = 2.0**-10  # no gradient of a sound loss overflows here


class Unfit(Exception):
    """The job can't be trained with a scaled loss; the text says why."""


class Overflow(Exception):
    """Raised through an optimizer's step() when the gradients that its closure made overflowed."""


class _Pending:
    """Overflows of the backward passes since an optimizer's last step: 0-dim float tensors by scale and device."""

    def __init__(self) -> None:
        self.flags: dict[tuple[float, Any], Any] = {}

    def add(self, scale: float, flag: Any) -> None:
        key = (scale, flag.device)
        known = self.flags.get(key)
        self.flags[key] = flag if known is None else known + flag

    def take(self) -> float | None:
        """The smallest scale that overflowed; waits for the card. Empty afterwards."""
        flags, self.flags = self.flags, {}
        return min((scale for (scale, _), flag in flags.items() if float(flag) != 0), default=None)


class LossScale:
    """One per job. `active` is what gradients inside the running backward pass are multiplied by."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.value = _FIRST_OF_FEW if verify.wanted() else _FIRST
        self.active = 1.0
        self.steps = self.skipped = 0  # that were due; of those, left out
        self._good_steps = 0
        self._optimizers: weakref.WeakKeyDictionary[Any, _Pending] = weakref.WeakKeyDictionary()

    def learn(self, optimizer: Any) -> None:
        self._optimizers.setdefault(optimizer, _Pending())

    def forget_gradients(self, optimizer: Any) -> None:
        if optimizer in self._optimizers:
            self._optimizers[optimizer].flags.clear()

    # -- a backward pass

    @contextmanager
    def unscaling(self, roots: list[Any]) -> Iterator[float]:
        """Around a backward pass from `roots`: what to multiply them by. Raises Unfit before anything has happened."""
        leaves = leaves_of(roots)
        self._check(leaves)
        hooks = [self._divide_at(leaf) for leaf in leaves]
        self.active = self.value
        try:
            yield self.value
        finally:
            scale, self.active = self.active, 1.0
            for hook in hooks:
                hook.remove()
        self._note_overflow(scale)

    @contextmanager
    def unscaling_inside(self, roots: list[Any]) -> Iterator[None]:
        """Around a backward pass inside the scaled one, as of reentrant checkpointing: what flows in is scaled, and so
        must be what flows on. Only parameters are leaves of the script's."""
        parameters = [leaf for leaf in leaves_of(roots) if isinstance(leaf, self._torch.nn.Parameter)]
        hooks = [self._divide_at(leaf) for leaf in parameters]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _divide_at(self, leaf: Any) -> Any:
        # Out of place: autograd may hand one tensor to two leaves.
        hook = leaf.register_hook(lambda gradient: gradient / self.active)
        # First, so that hooks of the script's see true gradients. Autograd goes through the plain dictionary below the
        # ordered one: its order is that of insertion, whatever move_to_end() says.
        hooks = of_torch.backward_hooks.of(leaf, {})
        others = [(key, hooks.pop(key)) for key in list(hooks) if key != hook.id]
        hooks.update(others)
        return hook

    def _check(self, leaves: list[Any]) -> None:
        if any(leaf is None for leaf in leaves):
            raise Unfit("this release of PyTorch does not tell which weights a graph ends at")
        half = next((leaf for leaf in leaves if leaf.dtype == self._torch.float16), None)
        if half is not None:
            raise Unfit(f"a parameter of shape {tuple(half.shape)} is float16 itself: its gradients can't be unscaled")
        if any(type(leaf).__name__ == "DTensor" or of_torch.local_tensor.is_in(leaf) for leaf in leaves):
            raise Unfit("parameters are sharded: ranks would have to agree on each overflow")
        owned = {id(p) for optimizer in self._optimizers for p in _parameters(optimizer)}
        if leaves and not owned:
            raise Unfit("no optimizer of torch.optim takes the steps, so a step that overflowed could not be left out")

    def _note_overflow(self, scale: float) -> None:
        for optimizer, pending in self._optimizers.items():
            for flag in self._overflows(optimizer):
                pending.add(scale, flag)

    def _overflows(self, optimizer: Any) -> list[Any]:
        """A number for each device and type that is not 0 where a gradient is infinite or not a number."""
        groups: dict[Any, list[Any]] = {}
        with self._torch.no_grad():
            for parameter in _parameters(optimizer):
                gradient = parameter.grad
                if gradient is not None:
                    dense = of_torch.values_of_sparse.of(gradient)() if gradient.is_sparse else gradient
                    groups.setdefault((dense.device, dense.dtype), []).append(dense.detach())
            return [self._overflow_of(gradients) for gradients in groups.values()]

    def _overflow_of(self, gradients: list[Any]) -> Any:
        # This is GradScaler's own operator, which works where values are not computed; here it multiplies by 1.
        found = self._torch.zeros((), device=gradients[0].device)
        of_torch.find_overflow(gradients, found, self._torch.ones_like(found))
        return found

    # -- an optimizer's step

    def step(self, optimizer: Any, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Takes the step unless what it would use overflowed. `step` is called with (*args, **kwargs)."""
        self.learn(optimizer)
        if self.active != 1.0:  # inside the backward pass, as it makes each gradient
            for flag in self._overflows(optimizer):
                self._optimizers[optimizer].add(self.active, flag)
        closure = args[0] if args else kwargs.get("closure")
        if callable(closure):
            return self._step_with_closure(optimizer, step, closure, args[1:], kwargs)
        if self._has_overflowed(optimizer):
            return None
        return step(*args, **kwargs)

    def _step_with_closure(
        self, optimizer: Any, step: Callable[..., Any], closure: Callable[[], Any], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        """The closure makes the gradients. Before its first call has returned nothing is updated, so a step can still
        be left out there; LBFGS calls it again and again, and what it made of the earlier calls can't be undone."""
        losses: list[Any] = []

        def checked() -> Any:
            loss = closure()
            overflowed = self._has_overflowed(optimizer)
            if overflowed and losses:
                raise RuntimeError(
                    f"vramfit: an fp16 gradient overflowed in call {len(losses) + 1} of the closure of one "
                    f"{type(optimizer).__name__}.step(), which can't be left out any more; use bf16 autocast, or none"
                )
            losses.append(loss)
            if overflowed:
                raise Overflow
            return loss

        self._optimizers[optimizer].flags.clear()
        try:
            return step(checked, *args, **{name: value for name, value in kwargs.items() if name != "closure"})
        except Overflow:
            return losses[0]

    def _has_overflowed(self, optimizer: Any) -> bool:
        overflowed = self._optimizers[optimizer].take()
        self.steps += 1
        if overflowed is None:
            self._good_steps += 1
            if self._good_steps >= _GROWTH_STEPS:
                self._good_steps = 0
                self.value *= 2
            return False
        self.skipped += 1
        self._good_steps = 0
        self.value = min(self.value, overflowed / 2)
        return True

    def is_lost(self) -> bool:
        """Gradients overflow at every scale: the loss itself is infinite or not a number."""
        return self.value < _LEAST


def _parameters(optimizer: Any) -> Iterator[Any]:
    for group in optimizer.param_groups:
        yield from group["params"]
