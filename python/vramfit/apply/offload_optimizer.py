"""The optimizer's state waits in host memory: a step brings over that of a few parameters, updates them, and takes it
back.

    script:             forward   backward   step                                     forward
    state on the card:  (none)    (none)     of 64 MiB of parameters, then the next   (none)

The updates are the optimizer's own, over some of its parameters at a time, with the numbers that it would have had:
nothing is rounded and nothing is left out. What the script reads of `optimizer.state`, and what a checkpoint holds,
are tensors of the CPU. Single numbers (`step`) stay where PyTorch keeps them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from vramfit import apply
from vramfit.apply import one_by_one
from vramfit.base import events, process
from vramfit.contract import plans
from vramfit.private import torch as of_torch

ID = "offload_optimizer"


class OffloadOptimizer:
    KEEPS = process.ALL  # a child has the wrapped classes too

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.at_once = plans.OffloadOptimizer.at_once

    def learn(self, optimizer: Any) -> None:
        if reason := one_by_one.why_not(optimizer):
            apply.refused(ID, reason)
            return
        kind = type(optimizer)
        inner = innermost_step(kind)
        if not _takes_turns(inner):
            kind.step = _hooked(_in_turns(self, inner))
        optimizer.register_load_state_dict_post_hook(self._take_all_back)

    def _take_all_back(self, optimizer: Any) -> None:
        """What is loaded comes to the parameters' cards."""
        self._take_back(optimizer, list(optimizer.state), {})

    def step(self, optimizer: Any, update: Callable[[Any], Any]) -> None:
        groups = optimizer.param_groups
        try:
            for group in groups:
                for turn in self._turns_of(group["params"]):
                    waiting = self._bring(optimizer, turn)
                    optimizer.param_groups = [{**group, "params": turn}]
                    update(optimizer)
                    self._take_back(optimizer, turn, waiting)
        finally:
            optimizer.param_groups = groups
        apply.applied(ID, "the optimizer's state waits in host memory between steps")

    def _turns_of(self, parameters: list[Any]) -> Iterator[list[Any]]:
        turn: list[Any] = []
        taken = 0
        for parameter in parameters:
            if parameter.grad is None:
                continue
            size = parameter.numel() * parameter.element_size()
            if turn and taken + size > self.at_once:
                yield turn
                turn, taken = [], 0
            turn.append(parameter)
            taken += size
        if turn:
            yield turn

    def _bring(self, optimizer: Any, parameters: list[Any]) -> dict[tuple[int, str], Any]:
        """The tensors of the host that it copied, by parameter and name."""
        waiting = {}
        for parameter in parameters:
            known = optimizer.state.get(parameter, {})
            for name, value in known.items():
                if parameter.is_cuda and _can_wait(self.torch, value) and not value.is_cuda:
                    waiting[id(parameter), name] = value
                    known[name] = value.to(parameter.device, non_blocking=True)
        return waiting

    def _take_back(self, optimizer: Any, parameters: list[Any], waiting: dict[tuple[int, str], Any]) -> None:
        for parameter in parameters:
            known = optimizer.state.get(parameter, {})
            for name, value in known.items():
                if not (_can_wait(self.torch, value) and value.is_cuda):
                    continue
                host = waiting.get((id(parameter), name))
                if host is None or host.shape != value.shape or host.dtype != value.dtype:
                    host = self.torch.empty_like(value, device="cpu", pin_memory=True)
                known[name] = host.copy_(value)


def innermost_step(kind: Any) -> Any:
    """An optimizer's step without hooks: PyTorch's own, or where its state waits in host memory the one in turns."""
    return inspect.unwrap(kind.step, stop=_takes_turns)


def _takes_turns(step: Any) -> bool:
    return getattr(step, "takes_turns", False)


def _can_wait(torch: Any, value: Any) -> bool:
    """A plain tensor of more than one number."""
    return type(value) is torch.Tensor and value.dim() > 0


def _in_turns(technique: OffloadOptimizer, update: Any) -> Any:
    torch = technique.torch

    @functools.wraps(update)
    def step(self: Any, closure: Any = None) -> Any:
        if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
            apply.ended(ID, "the script captures a CUDA graph, which would repeat the copies of one step")
        loss = None
        if closure is not None:  # once, before all updates, as each of these optimizers does
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            technique.step(self, update)
        return loss

    return step


def _hooked(step: Any) -> Any:
    """Wraps the step as PyTorch's own constructor does: with the hooks before and after, which run once a step."""
    hooked = of_torch.step_hook(step)
    of_torch.step_is_hooked.put(hooked, True)
    step.takes_turns = True  # now: what wraps a function takes its attributes over
    return hooked


def install(torch: Any, options: plans.OffloadOptimizer) -> None:
    technique = process.own(OffloadOptimizer, torch)
    technique.at_once = options.at_once
    events.optimizer_made.listen(technique.learn)
