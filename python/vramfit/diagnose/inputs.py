"""What goes into the model and what comes out of it: sizes of inputs step by step, the widest output, wide layers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from vramfit.base import events, notes, process, recorder
from vramfit.base.around import around
from vramfit.contract import notes as said
from vramfit.observe import owners, scopes
from vramfit.observe.phases import position

_MAX_NOTES = 600
_ALWAYS_NOTED = 8
_WIDE = 4096  # classes: a vocabulary


class _State:
    def __init__(self) -> None:
        self.now: dict[str, Any] = {}
        self.numbers: dict[int, int] = {}  # by phase: the last step that was counted
        self.last: dict[int, str] = {}  # by phase: the shapes noted last
        self.count = 0
        self.told_outputs: dict[str, int] = {}
        self.told_roots: set[int] = set()
        self.told_graphs: set[str] = set()  # options of backward() that keep its graph


_state = process.own(_State)


def _is_model(module: Any) -> bool:
    root = scopes.root_of(module)
    return root is not None and root.parameters > 0


def _before_root(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not _is_model(module):
        if position.stage == recorder.FORWARD and not _state.now.get("in_step"):
            _note_input_module(module)
        return
    _note_wide_layer(module)
    tensors = [tensor for _, tensor in owners.tensors_in(args, kwargs) if tensor.is_cuda]
    elements = sum(int(tensor.numel()) for tensor in tensors)
    if not _state.now.get("in_step"):
        _state.now.update(in_step=True, elements=0, shapes="")
    if elements > _state.now["elements"]:
        shown = [f"{list(tensor.shape)} {str(tensor.dtype).replace('torch.', '')}" for tensor in tensors[:6]]
        _state.now.update(elements=elements, shapes=", ".join(shown))


def _note_input_module(module: Any) -> None:
    """A module without parameters that runs before the model: a transform of the batch."""
    name = type(module).__name__
    if id(module) not in _state.told_roots and len(_state.told_roots) < 50:
        _state.told_roots.add(id(module))
        notes.note(said.InputModule(name=name))


def _note_wide_layer(module: Any) -> None:
    inner = scopes.unwrap(module)
    if id(inner) in _state.told_roots:
        return
    _state.told_roots.add(id(inner))
    widest = max(
        ((int(getattr(part, "out_features", 0) or 0), name) for name, part in inner.named_modules()), default=(0, "")
    )
    if widest[0] >= _WIDE:
        notes.note(said.WideLayer(name=widest[1], classes=widest[0]))


def _after_root(module: Any, result: Any) -> None:
    if not _is_model(module):
        return
    tensors = [tensor for _, tensor in owners.tensors_in(result) if tensor.is_cuda]
    largest = max(tensors, key=lambda tensor: int(tensor.numel()), default=None)
    if largest is None:
        return
    phase = recorder.PHASE_NAMES[position.phase]
    size = int(largest.numel() * largest.element_size())
    if size > _state.told_outputs.get(phase, 0) * 1.05:
        _state.told_outputs[phase] = size
        dtype = str(largest.dtype).replace("torch.", "")
        notes.note(said.Output(shape=[int(n) for n in largest.shape], dtype=dtype))


def note_unfinished() -> None:
    """The input of the step that the job is in, for an error that ends it there."""
    number = _state.numbers.get(position.phase, 0) + 1
    elements, shapes = _state.now.get("elements", 0), _state.now.get("shapes", "")
    if elements:
        notes.note(
            said.StepInput(phase=recorder.PHASE_NAMES[position.phase], step=number, elements=elements, shapes=shapes)
        )


def _step_counted(number: int) -> None:
    _state.numbers[position.phase] = number
    elements, shapes = _state.now.get("elements", 0), _state.now.get("shapes", "")
    _state.now.clear()
    if not elements or _state.count >= _MAX_NOTES:
        return
    if number > _ALWAYS_NOTED and shapes == _state.last.get(position.phase):
        return
    _state.last[position.phase] = shapes
    _state.count += 1
    notes.note(
        said.StepInput(phase=recorder.PHASE_NAMES[position.phase], step=number, elements=elements, shapes=shapes)
    )


def _optimizer_steps(optimizer: Any) -> None:
    """Tells before the first step of an optimizer how much state it is going to make."""
    key = id(optimizer)
    if key in _state.told_roots:
        return
    _state.told_roots.add(key)
    name = type(getattr(optimizer, "optimizer", optimizer)).__name__
    expected = _expected_state(name, optimizer)
    notes.note(said.OptimizerBegins(class_name=name, expected_bytes=expected))


def _expected_state(name: str, optimizer: Any) -> int | None:
    """Bytes of state on cards by the documented algorithms of torch.optim; None for others."""
    total = 0
    for group in optimizer.param_groups:
        copies: int | None = None
        if name in ("Adam", "AdamW", "NAdam", "RAdam"):
            copies = 3 if group.get("amsgrad") else 2
        elif name == "Adamax":
            copies = 2
        elif name == "SGD":
            copies = 1 if group.get("momentum") else 0
        elif name == "RMSprop":
            copies = 1 + bool(group.get("momentum")) + bool(group.get("centered"))
        if copies is None:
            return None
        for parameter in group["params"]:
            if parameter.is_cuda and parameter.requires_grad:
                total += copies * parameter.numel() * parameter.element_size()
    return total


def _backward_called(torch: Any) -> None:
    """Notes the first backward() that keeps its graph."""
    from vramfit.base import frames

    def backward(tensors: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        keeps = kwargs.get("retain_graph") or (len(args) > 1 and args[1])
        creates = kwargs.get("create_graph") or (len(args) > 2 and args[2])
        options: tuple[tuple[Any, said.GraphOption], ...] = ((keeps, "retain_graph"), (creates, "create_graph"))
        for asked, name in options:
            if asked and name not in _state.told_graphs:
                _state.told_graphs.add(name)
                notes.note(said.GraphKept(option=name, line=frames.script_line(sys._getframe(1))))
        yield

    torch.autograd.backward = around("inputs.backward", torch.autograd.backward, backward)


def install(torch: Any) -> None:
    events.root_enter.listen(_before_root)
    events.root_exit.listen(_after_root)
    events.step_counted.listen(_step_counted)
    events.step_begin.listen(_optimizer_steps)
    _backward_called(torch)
