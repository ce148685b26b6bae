"""Steps of loops that apply gradients by hand: no optimizer is made, so each backward pass ends a step.

    loss.backward()                     for p in model.parameters(): p -= rate * p.grad
    torch.autograd.grad(loss, inputs)   x = x - rate * gradient

What is left of such a step is judged like that of an optimizer's. The step of one backward pass ends when the next one
begins, when the gradients of the last have been used.
"""

from __future__ import annotations

from typing import Any

from vramfit.base import events, process, recorder
from vramfit.observe import job
from vramfit.observe.phases import position


class _State:
    def __init__(self) -> None:
        self.passes = 0


_state = process.own(_State)


def _backward_begins(tensors: Any) -> None:
    _next_pass()


def _gradients_returned(inputs: Any, result: Any) -> None:
    if not position.optimizers:
        position.set_phase(recorder.TRAIN)
    _next_pass()


def _next_pass() -> None:
    if position.optimizers:
        return
    _state.passes += 1
    if _state.passes > 1:
        job.count_training_step()


def install() -> None:
    events.backward_begin.listen(_backward_begins)
    events.gradients_returned.listen(_gradients_returned)
