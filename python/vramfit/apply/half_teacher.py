"""A distillation's teacher in half precision: its weights, and its forward under autocast; the student is not touched.

A teacher is a network that is called in eval mode, without gradients, and of which no optimizer has a parameter. So is
an average of the student's weights, which the script goes on changing: in half precision its small changes would round
away. The job ends where weights of a teacher are seen to change, by sums of their bits, at some of its calls.
"""

from __future__ import annotations

import weakref
from typing import Any

from vramfit import apply
from vramfit.apply.half_evaluation import WeightsInHalf
from vramfit.apply.loss_region import to_float
from vramfit.base import events, process
from vramfit.contract import plans
from vramfit.observe import job, phases, quiet_forwards, scopes

ID = "half_teacher"
_FIRST = 4  # calls at which its weights are looked at, and then
_EVERY = 32


class _Kept:
    def __init__(self, module: Any) -> None:
        self.module = weakref.ref(module)
        self.calls = 0
        self.sum: int | None = None


class HalfTeacher:
    KEEPS = process.ALL

    def __init__(self, torch: Any, options: plans.HalfTeacher) -> None:
        self._torch = torch
        self._dtype = getattr(torch, options.dtype)
        self._weights = WeightsInHalf(torch, self._dtype)
        # Without a card's values there is nothing to compare.
        self._has_values = apply.has_values()
        self._kept: dict[int, _Kept] = {}
        self._module: Any = None  # whose forward runs
        self._region: Any = None  # its autocast

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        if self._region is not None or not self._is_teacher(module):
            return
        kept = self._kept.get(id(module))
        if kept is None or kept.module() is not module:
            self._weights.keep(module)
            kept = self._kept[id(module)] = _Kept(module)
            apply.applied(ID, f"{type(module).__name__} is held and run in {str(self._dtype).replace('torch.', '')}")
        self._check(module, kept)
        self._module = module
        self._region = self._torch.autocast("cuda", dtype=self._dtype, cache_enabled=False)
        self._region.__enter__()

    def _is_teacher(self, module: Any) -> bool:
        root = scopes.root_of(module)
        if root is None or not root.parameters or module.training or self._torch.is_grad_enabled():
            return False
        if not quiet_forwards.known.optimizers or quiet_forwards.is_trained(module):
            return False
        return job.autocast_dtype() is None

    def _check(self, module: Any, kept: _Kept) -> None:
        kept.calls += 1
        if not self._has_values or (kept.calls > _FIRST and kept.calls % _EVERY):
            return
        now = self._sum_of(module)
        if kept.sum is not None and now != kept.sum:
            apply.ended(
                ID, f"the script changes the weights of {type(module).__name__}, which half precision would round"
            )
        kept.sum = now

    def _sum_of(self, module: Any) -> int:
        parts = [
            parameter.detach().view(self._torch.int16).sum(dtype=self._torch.int64)
            for parameter in module.parameters()
            if parameter.dtype == self._dtype
        ]
        return int(sum(part.to(parts[0].device) for part in parts)) if parts else 0

    def leave(self, module: Any, args: Any, result: Any) -> Any:
        """A forward hook of every module: what it returns takes the place of the result."""
        if module is not self._module or phases.is_inside_module():
            return None
        region, self._region, self._module = self._region, None, None
        region.__exit__(None, None, None)
        return to_float(self._torch, result, self._dtype)


def install(torch: Any, options: plans.HalfTeacher) -> None:
    from torch.nn.modules import module

    technique = process.own(HalfTeacher, torch, options)
    events.root_enter.listen(technique.enter)
    module.register_module_forward_hook(technique.leave, always_call=True)
