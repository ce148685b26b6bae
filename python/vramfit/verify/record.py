"""Notes of kind `training_step` and `training_tensor`: options of each optimizer step, and samples of tensors; those of
an evaluation's outputs too.

A tensor is known by what it is and by its number among those: parameters by their place in the optimizers, which is
the same with and without a plan.
"""

from __future__ import annotations

import atexit
import os
import time
import weakref
from collections.abc import Iterator
from typing import Any

from vramfit.base import events, garbage, notes
from vramfit.base.recorder import TEST, VALIDATE
from vramfit.base.stop import RunComplete
from vramfit.contract import notes as said
from vramfit.observe import owners, scopes
from vramfit.observe.phases import position
from vramfit.steer import errors
from vramfit.values.memory import contents
from vramfit.verify import averages
from vramfit.verify.pending_batches import PendingBatches

_VALUES = 64  # of a tensor, evenly spread
_OUTPUT_VALUES = 2048  # of an output: what differs may be a seam
_FEWEST = 2  # steps: what is counted, or scheduled, has moved on by then
_OUTPUTS = 3  # forwards of evaluations
_Key = tuple[str, tuple[int, ...]]  # a weight's name and shape


class Record:
    def __init__(self, torch: Any, steps: int, outputs: int, seconds: float) -> None:
        self._torch = torch
        self._steps = steps
        self._seconds = seconds  # of the processor, after which the fewest steps are enough; 0: never
        self._awaited = outputs  # forwards of evaluations, before the run ends
        self._forwards = 0  # of evaluations so far
        self._input = 0.0  # the sum of all numbers that the evaluation's model was given
        self._optimizers: list[Any] = []
        self._begun: dict[int, int] = {}  # steps of each optimizer that have begun, by its number
        self._before: dict[tuple[int, int], Any] = {}  # sampled values of parameters before their first step
        self._not_begun: weakref.WeakSet[Any] = weakref.WeakSet()  # optimizers that have taken no step yet
        # The same by id(), before the first backward pass: a plan may update them within it, and a script that changes
        # weights by hand before each step has done so as often as it saw batches.
        self._before_backward: dict[int, list[float]] = {}
        self._buffers_before: dict[str, list[float]] | None = None
        self._weights_before: dict[_Key, list[float]] = {}  # averages begin at these
        self._finished = self._has_closure = False
        self._samples = 0  # delivered in training so far
        self._data = 0.0  # the sum of all numbers in them
        self._pending = PendingBatches()

    # -- what the data are

    def on_batch(self, this_pass: Any, batch: Any) -> None:
        tensors = [tensor for _, tensor in owners.tensors_in(batch) if tensor.dim() > 0]
        samples = int(tensors[0].shape[0]) if tensors else 0
        self._pending.add(id(this_pass.loader), this_pass.delivered == 1, (samples, sum(map(self._sum, tensors))))

    def on_backward(self, tensors: Any) -> None:
        samples, data = self._pending.take()
        self._samples += samples
        self._data += data
        for optimizer in self._not_begun:
            new = [p for p in _parameters(optimizer) if id(p) not in self._before_backward]
            self._before_backward.update({id(p): self._sample(p) for p in new})
        if not self._begun and not self._weights_before:
            self._weights_before = {key: self._sample(weight) for key, weight in self._trained().items()}

    def on_optimizer(self, optimizer: Any) -> None:
        self._not_begun.add(optimizer)

    def _sum(self, tensor: Any) -> float:
        kept = tensor.detach().real if tensor.is_complex() else tensor.detach()
        return float(kept.to(self._torch.float64).nan_to_num(0.0, 0.0, 0.0).sum())

    # -- steps

    def _number(self, optimizer: Any) -> int:
        optimizer = getattr(optimizer, "optimizer", optimizer)
        if not any(known is optimizer for known in self._optimizers):
            self._optimizers.append(optimizer)
        return next(i for i, known in enumerate(self._optimizers) if known is optimizer)

    def on_step_begin(self, optimizer: Any) -> None:
        if self._finished:
            return
        if self._buffers_before is None:
            self._buffers_before = {index: self._sample(buffer) for index, buffer in self._buffers()}
            trained = {} if self._weights_before else self._trained()
            self._weights_before.update({key: self._sample(weight) for key, weight in trained.items()})
        number = self._number(optimizer)
        self._begun[number] = self._begun.get(number, 0) + 1
        if self._begun[number] == 1:
            self._not_begun.discard(getattr(optimizer, "optimizer", optimizer))
            for index, parameter in enumerate(_parameters(optimizer)):
                known = self._before_backward.pop(id(parameter), None)
                self._before[number, index] = self._sample(parameter) if known is None else known
        # A closure makes the gradients within the step.
        self._has_closure = self._pending.is_one_waiting()
        if not self._has_closure:
            self._note_step(optimizer, number)

    def on_step_end(self, optimizer: Any) -> None:
        if self._finished:
            return
        number = self._number(optimizer)
        if self._has_closure:
            self._note_step(optimizer, number)
            self._has_closure = False
        if number == 0 and self._begun[0] >= self._steps_wanted():
            self.finish()
            self._end_if_all_is_seen()

    def _steps_wanted(self) -> int:
        is_late = 0 < self._seconds < time.process_time()
        return min(_FEWEST, self._steps) if is_late else self._steps

    def _note_step(self, optimizer: Any, number: int) -> None:
        is_first = self._begun[number] == 1
        before = [values for (of, _), values in self._before.items() if of == number]
        weights = sum(map(sum, before)) if is_first else None
        notes.note(said.TrainingStep(optimizer=number, step=self._begun[number], samples=self._samples,
                   data=self._data, weights=weights if weights is None or weights - weights == 0 else None,
                   options=[_numbers(group) for group in optimizer.param_groups]))  # fmt: skip
        for index, parameter in enumerate(_parameters(optimizer) if is_first else ()):
            if parameter.grad is not None and not parameter.grad.is_sparse:
                self._write("gradient", f"{number}.{index}", self._sample(parameter.grad))

    def finish(self) -> None:
        if self._finished:
            return
        self._finished = True
        for number, optimizer in enumerate(self._optimizers):
            for index, parameter in enumerate(_parameters(optimizer)):
                before = self._before.get((number, index))
                if before is not None and len(before) == min(parameter.numel(), _VALUES):
                    after = self._sample(parameter)
                    self._write("update", f"{number}.{index}", [b - a for a, b in zip(before, after)])
                    for name, state in self._states(optimizer, parameter):
                        self._write("state", f"{number}.{index}.{name}", self._sample(state))
        for name, buffer in self._buffers():
            after = self._sample(buffer)
            began = (self._buffers_before or {}).get(name, [0.0] * len(after))
            self._write("buffer", name, [b - a for a, b in zip(began, after)])
        for kind, name, key, tensor in averages.find(self._torch, self._trained(), self._optimizers):
            after = self._sample(tensor)
            began = self._weights_before.get(key, [0.0] * len(after))
            self._write(kind, name, [b - a for a, b in zip(began, after)])
        notes.note(said.TrainingEnd())

    # -- evaluations

    def on_root_enter(self, module: Any, args: Any, kwargs: Any) -> None:
        if position.phase in (VALIDATE, TEST):
            self._pending.forget_last()
        if self._is_looked_at(module):
            self._input = sum(self._sum(tensor) for _, tensor in owners.tensors_in((args, kwargs)))

    def on_root_exit(self, module: Any, result: Any) -> None:
        if result is None or not self._is_looked_at(module):
            return
        number, self._forwards = self._forwards, self._forwards + 1
        self._write("input", str(number), [self._input])
        for name, tensor in owners.tensors_in(result):
            self._write("output", f"{number}.{name}", self._values_of(tensor))
        if self._forwards == self._awaited:
            self._end_if_all_is_seen()

    def _is_looked_at(self, module: Any) -> bool:
        root = scopes.root_of(module)
        is_model = root is not None and bool(root.parameters)
        return is_model and position.phase in (VALIDATE, TEST) and self._forwards < max(_OUTPUTS, self._awaited)

    def _end_if_all_is_seen(self) -> None:
        if self._forwards < self._awaited or (self._begun and not self._finished):
            return
        self.finish()
        garbage.run_ends_early()
        raise RunComplete

    def _values_of(self, tensor: Any) -> list[float]:
        flat = tensor.detach().reshape(-1)
        flat = (flat.real if flat.is_complex() else flat).to(self._torch.float64).cpu()
        count = min(flat.numel(), _OUTPUT_VALUES)
        return [float(value) for value in flat[[i * flat.numel() // count for i in range(count)]].tolist()]

    # -- tensors

    def _buffers(self) -> Iterator[tuple[str, Any]]:
        for number, (_, module) in enumerate(scopes.live_roots()):
            for name, buffer in module.named_buffers():
                yield f"{number}.{name}", buffer

    def _trained(self) -> dict[_Key, Any]:
        """The weights of what is trained, by name and shape: by either alone, any layer of a library is like them."""
        found: dict[_Key, Any] = {}
        for _, module in scopes.live_roots():
            for name, parameter in module.named_parameters():
                found.setdefault((name, tuple(parameter.shape)), parameter)
        return found

    def _states(self, optimizer: Any, parameter: Any) -> Iterator[tuple[str, Any]]:
        """What it keeps of a parameter in numbers that can be compared: no codes of fewer bits, no counts of steps."""
        kept = getattr(optimizer, "state", {}).get(parameter, {})
        for name, value in kept.items() if isinstance(kept, dict) else ():
            is_tensor = isinstance(value, self._torch.Tensor) and type(name) is str
            if is_tensor and value.is_floating_point() and value.dim() > 0 and not value.is_sparse:
                yield name, value

    def _sample(self, tensor: Any) -> list[float]:
        with self._torch.no_grad():
            flat = contents(tensor.detach()).reshape(-1)
            count = min(flat.numel(), _VALUES)
            places = [i * flat.numel() // count for i in range(count)]
            return [float(value) for value in flat[places].tolist()]

    @staticmethod
    def _write(kind: said.TensorKind, index: str, values: list[float]) -> None:
        # JSON has no NaN: as text, which the reader knows.
        notes.note(said.TrainingTensor(what=kind, index=index, values=[v if v - v == 0 else str(v) for v in values]))


def _parameters(optimizer: Any) -> list[Any]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _numbers(group: dict[str, Any]) -> dict[str, float]:
    kept = {}
    for name, value in group.items():
        several = name != "params" and isinstance(value, (tuple, list))  # a schedule may move `betas`, too
        for key, each in ((f"{name}[{i}]", each) for i, each in enumerate(value)) if several else ((name, value),):
            is_one = hasattr(each, "numel") and each.numel() == 1  # a learning rate that is a tensor
            if is_one or isinstance(each, (int, float)) and not isinstance(each, bool):
                kept[key] = float(each)
    return kept


def install(torch: Any, steps: int, outputs: int, seconds: float) -> None:
    record, pid = Record(torch, steps, outputs, seconds), os.getpid()

    def finish_at_exit() -> None:
        """Finishes the record of a script that takes fewer steps."""
        if os.getpid() == pid and not errors.ended_by_error():
            record.finish()

    atexit.register(finish_at_exit)
    events.batch.listen(record.on_batch)
    events.backward_begin.listen(record.on_backward)
    events.optimizer_made.listen(record.on_optimizer)
    events.step_begin.listen(record.on_step_begin)
    events.step_end.listen(record.on_step_end)
    events.root_enter.listen(record.on_root_enter)
    events.root_exit.listen(record.on_root_exit)
