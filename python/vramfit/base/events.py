"""What happens in the job, for whoever wants to know: plain lists of listeners, called in order, guarded.

root_enter(module, args, kwargs)   a module is called while none is running
root_recomputed(module)            the same, during a backward pass: its forward runs again
root_exit(module, result)          it returned; result is None when it raised
backward_begin(tensors)            torch.autograd.backward or .grad
backward_end()
gradients_returned(inputs, result) torch.autograd.grad returned
gradients_zeroed(owner, to_none)   an optimizer's, or a module's: zero_grad() begins
step_begin(optimizer)              before and after torch.optim.Optimizer.step
step_end(optimizer)
training_step(optimizer)           a training step ended: optimizers stepped inside a backward pass end one together
batch(loader_pass, batch)          a DataLoader yields
phase_begin(phase)                 the phase changed
optimizer_made(optimizer)          a torch optimizer was constructed
step_counted(number)               one optimizer step, or one batch of an evaluation, ended: the recorder was told
weighed_otherwise(place)           a part of a batch counts by more than its samples: the loss is a sum, or is divided
gathered(found)                    a list was found in which an evaluation gathers (steer/gathering.py)
before_stop()                      the run is ended here, before its script would end
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vramfit.base import notes, process
from vramfit.base.stop import RunComplete

Listener = Callable[..., Any]


class Event:
    """A list of listeners. A failing one is noted and stays; RunComplete passes through."""

    KEEPS = process.ALL  # a forked child has the same hooks

    def __init__(self, name: str) -> None:
        self._name = name
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def __call__(self, *args: Any) -> None:
        for listener in self._listeners:
            try:
                listener(*args)
            except RunComplete:
                raise
            except Exception as error:
                notes.hook_failed(f"{self._name}: {listener.__module__}.{listener.__qualname__}", error)


root_enter = process.own(Event, "root_enter")
root_recomputed = process.own(Event, "root_recomputed")
root_exit = process.own(Event, "root_exit")
backward_begin = process.own(Event, "backward_begin")
backward_end = process.own(Event, "backward_end")
gradients_returned = process.own(Event, "gradients_returned")
gradients_zeroed = process.own(Event, "gradients_zeroed")
step_begin = process.own(Event, "step_begin")
step_end = process.own(Event, "step_end")
training_step = process.own(Event, "training_step")
batch = process.own(Event, "batch")
phase_begin = process.own(Event, "phase_begin")
optimizer_made = process.own(Event, "optimizer_made")
step_counted = process.own(Event, "step_counted")
weighed_otherwise = process.own(Event, "weighed_otherwise")
gathered = process.own(Event, "gathered")
before_stop = process.own(Event, "before_stop")
