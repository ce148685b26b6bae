"""zero_grad() gives gradients back where the script has them filled with zeros, zero_grad(set_to_none=False).

An optimizer skips a parameter without a gradient, but decays one whose gradient is zero, and moves it by its momentum.
So what a backward pass did not reach gets its zeros after all, once it is over: the steps stay what they were.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterable
from typing import Any

from vramfit import apply
from vramfit.apply import one_by_one
from vramfit.base import events, process
from vramfit.contract import plans

ID = "zero_grad_set_to_none"


class ZeroGradSetToNone:
    KEEPS = process.ALL

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._gave_back = False
        self._was_none_already = False
        self._emptied: dict[int, weakref.ref[Any]] = {}  # parameters whose gradients were given back, by id()
        self._due: dict[int, weakref.ref[Any]] = {}  # of those, before the backward pass that runs

    def patch(self, owner: Any) -> None:
        original = owner.zero_grad

        @functools.wraps(original)
        def zero_grad(self_: Any, set_to_none: bool = True) -> Any:
            if set_to_none:
                self._was_none_already = True
                return original(self_, set_to_none)
            for parameter in one_by_one.parameters_of(self_):
                if parameter.grad is not None:
                    self._emptied[id(parameter)] = weakref.ref(parameter)
                    self._due.pop(id(parameter), None)  # its backward pass reached it: it steps within that
            self._gave_back = True
            apply.applied(ID, "gradients are given back instead of being filled with zeros")
            return original(self_, True)

        owner.zero_grad = zero_grad

    def before_backward(self, tensors: Any) -> None:
        self._due, self._emptied = {**self._due, **self._emptied}, {}

    def after_backward(self) -> None:
        due, self._due = self._due, {}
        self._fill(parameter() for parameter in due.values())

    def before_step(self, optimizer: Any) -> None:
        if self._was_none_already and not self._gave_back:
            apply.refused(ID, "the script's zero_grad() sets gradients to None already")
        if self._emptied:  # a step without a backward pass
            of_optimizer = {id(parameter) for parameter in one_by_one.parameters_of(optimizer)}
            self._fill(self._emptied.pop(one)() for one in of_optimizer & self._emptied.keys())

    def _fill(self, parameters: Iterable[Any]) -> None:
        for parameter in parameters:
            if parameter is not None and parameter.grad is None:
                parameter.grad = self._torch.zeros_like(parameter)

    def patch_graphs(self) -> None:
        """A captured step writes into the gradients that were there when it was captured."""
        graph = self._torch.cuda.CUDAGraph
        original = graph.capture_begin

        @functools.wraps(original)
        def capture_begin(self_: Any, *args: Any, **kwargs: Any) -> Any:
            apply.refused(ID, "the script captures a CUDA graph, whose gradients have to stay where they are")
            return original(self_, *args, **kwargs)

        graph.capture_begin = capture_begin


def install(torch: Any, options: plans.ZeroGradSetToNone) -> None:
    technique = process.own(ZeroGradSetToNone, torch)
    technique.patch(torch.optim.Optimizer)
    technique.patch(torch.nn.Module)
    technique.patch_graphs()
    events.backward_begin.listen(technique.before_backward)
    events.backward_end.listen(technique.after_backward)
    events.step_begin.listen(technique.before_step)
