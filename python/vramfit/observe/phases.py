"""Which phase and stage the job is in, and which module it runs, told to the recorder as it happens.

Nothing here asks the script: phases follow from modules being called, gradients being on, backward passes, optimizer
steps and saves. Hooks cost about 1 us a module call, and dynamo folds them away in compiled regions.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

from vramfit.base import events, notes, process, recorder
from vramfit.base.recorder import BACKWARD, FORWARD, INPUT, LOAD, OPTIMIZER, OTHER, SAVE, TEST, TRAIN, VALIDATE
from vramfit.observe import quiet_forwards, scopes
from vramfit.private import torch as of_torch

# Not "prediction": transformers calls prediction_step() in every evaluation.
_TEST_WORDS = frozenset({"test", "testing", "predict"})
_OWN_TEST_WORDS = _TEST_WORDS | {"infer", "inference"}  # a library's sliding_window_inference() serves any evaluation
_VALIDATE_WORDS = frozenset(
    {
        "validate",
        "validation",
        "val",
        "valid",
        "validating",
        "eval",
        "evaluate",
        "evaluation",
        "evaluating",
    }
)
_WORD = re.compile(r"[A-Za-z][a-z]*")
_MAX_DEPTH = 40  # frames looked at for a function's name


class Position:
    """Where the job is. One per process; a forked child starts afresh."""

    def __init__(self) -> None:
        self.phase = LOAD
        self.stage = OTHER
        self.trained = False  # a backward pass has run
        self.optimizers = 0  # constructed so far
        self.recomputes = False  # modules ran during a backward pass: activation checkpointing
        self.evaluated = False
        self.trains_in_eval_mode: set[int] = set()
        self.root: Any = None  # id() of the last root with parameters
        self.stepping_in_backward: weakref.WeakSet[Any] = weakref.WeakSet()  # optimizers
        self.stepped: Any = None  # the first optimizer that stepped inside the backward pass that runs

    def set_phase(self, phase: int) -> None:
        if phase != self.phase:
            self.phase = phase
            if phase in (VALIDATE, TEST):
                quiet_forwards.when_settled(self._evaluates)
            recorder.set_phase(phase)
            events.phase_begin(phase)

    def _evaluates(self) -> None:
        self.evaluated = True

    def set_stage(self, stage: int) -> None:
        if stage != self.stage:
            self.stage = stage
            recorder.set_stage(stage)


class _Running(threading.local):
    """The scopes to go back to, one per module that is running in this thread."""

    KEEPS = process.ALL

    def __init__(self) -> None:
        self.calls: list[int] = []

    def in_child(self) -> None:
        self.calls = []  # the thread that forked is the only one


class _Watchers(list[Any]):
    """Those who watch every module call (job.py, modules/), while there are any."""

    KEEPS = process.ALL

    def in_child(self) -> None:
        self.clear()


position = process.own(Position)
watchers = process.own(_Watchers)
_running = process.own(_Running)


@process.cached()
def _hint_of(code: CodeType) -> int | None:
    words = {word.lower() for word in _WORD.findall(code.co_name)}
    test_words = _TEST_WORDS if "site-packages" in code.co_filename else _OWN_TEST_WORDS
    return TEST if words & test_words else VALIDATE if words & _VALIDATE_WORDS else None


def caller_hint(frame: FrameType | None) -> int | None:
    """TEST when any function on the stack is called so (Trainer.predict() runs an evaluation loop), else VALIDATE."""
    found: int | None = None
    for _ in range(_MAX_DEPTH):
        if frame is None:
            break
        hint = _hint_of(frame.f_code)
        if hint == TEST:
            return TEST
        found = found or hint
        frame = frame.f_back
    return found


def is_inside_module() -> bool:
    """Whether a module runs in this thread."""
    return bool(_running.calls)


@contextlib.contextmanager
def calls_of_ours(module: Any) -> Iterator[None]:
    """Calls of this module are none of the script's: no root is entered, and its parts are named later."""
    _running.calls.append(0)
    try:
        yield
    finally:
        _running.calls.pop()
        scopes.forget(module)


def _phase_of_forward(module: Any, grad_enabled: bool, frame: FrameType | None) -> int:
    training_mode = module.training or id(module) in position.trains_in_eval_mode
    hint = caller_hint(frame)
    in_training = hint is None or (id(module) == position.root and position.phase == TRAIN and hint != VALIDATE)
    if grad_enabled and training_mode and in_training:
        quiet_forwards.trains()
        return TRAIN
    if hint == TEST or position.optimizers == 0:
        quiet_forwards.settle()
        return TEST
    if hint == VALIDATE:
        return quiet_forwards.phase_of_evaluation(module, grad_enabled, frame)
    return quiet_forwards.phase_of(module, grad_enabled, frame, position.phase)


def _frames_arguments(frame: FrameType | None) -> dict[str, Any]:
    """The keyword arguments of the call: a global pre-hook gets the positional ones only."""
    for _ in range(3):
        if frame is None:
            return {}
        if frame.f_code.co_name in (of_torch.call_module.name, "inner"):
            kwargs = frame.f_locals.get("kwargs")
            if isinstance(kwargs, dict):
                return kwargs
        frame = frame.f_back
    return {}


@notes.guarded("phases.root")
def _enter_root(module: Any, args: tuple[Any, ...], grad_enabled: bool, frame: FrameType | None) -> None:
    root = scopes.root_of(module)
    # A part of a known root may be called by itself: timm trains model and loss as one module and validates the model.
    if root.parameters if root is not None else next(module.parameters(), None) is not None:
        position.set_phase(_phase_of_forward(module, grad_enabled, frame))
        position.root = id(module)
    position.set_stage(FORWARD)


def _make_module_hooks(torch: Any) -> tuple[Callable[..., None], Callable[..., None]]:
    is_compiling = torch.compiler.is_compiling
    is_tracing = torch.jit.is_tracing  # what is asked of a tensor then, its size even, becomes part of what is traced
    is_grad_enabled = torch.is_grad_enabled
    scope_of, set_scope, running = scopes.scope_of, recorder.set_scope, _running
    # Whoever reads a parametrized weight calls it, be it to make it or to save it: no model that a script runs.
    of_weights = torch.nn.utils.parametrize.ParametrizationList

    def enter(module: Any, args: tuple[Any, ...]) -> None:
        if is_compiling() or is_tracing():
            return
        calls = running.calls
        is_root = not calls and not isinstance(module, of_weights)
        calls.append(set_scope(scope_of(module, is_root)))
        for watcher in watchers:
            watcher.enter(module, args)
        if is_root:
            if position.stage == BACKWARD:
                position.recomputes = True
                events.root_recomputed(module)
                return
            frame = sys._getframe(1)
            _enter_root(module, args, is_grad_enabled(), frame)
            events.root_enter(module, args, _frames_arguments(frame))

    def leave(module: Any, args: tuple[Any, ...], result: Any) -> None:
        if is_compiling() or is_tracing():
            return
        calls = running.calls
        if not calls:
            return
        set_scope(calls.pop())
        for watcher in watchers:
            watcher.leave(module, result)
        if not calls and position.stage != BACKWARD and not isinstance(module, of_weights):
            events.root_exit(module, result)

    return enter, leave


def _watch_backward(torch: Any) -> None:
    original = torch.autograd.backward
    original_grad = torch.autograd.grad

    @functools.wraps(original)
    def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        if position.stage == BACKWARD:  # one inside another: reentrant checkpointing, double backward
            return original(tensors, *args, **kwargs)
        _begin_backward()
        events.backward_begin(tensors)
        try:
            return original(tensors, *args, **kwargs)
        finally:
            position.set_stage(OTHER)
            events.backward_end()
            if position.stepped is not None:
                events.training_step(position.stepped)

    @functools.wraps(original_grad)
    def grad(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        before = position.stage  # a gradient penalty is part of the forward pass
        position.set_stage(BACKWARD)
        try:
            result = original_grad(outputs, *args, **kwargs)
        finally:
            position.set_stage(before)
        events.gradients_returned(args[0] if args else kwargs["inputs"], result)
        return result

    torch.autograd.backward = backward
    torch.autograd.grad = grad


@notes.guarded("phases.backward")
def _begin_backward() -> None:
    position.trained = True
    position.stepped = None
    quiet_forwards.backward_begins()
    if position.phase != TRAIN and position.root is not None:
        position.trains_in_eval_mode.add(position.root)
    position.set_phase(TRAIN)
    position.set_stage(BACKWARD)


def _watch_optimizers(torch: Any) -> None:
    from torch.optim import optimizer as module

    def begin(optimizer: Any, args: Any, kwargs: Any) -> None:
        position.set_phase(TRAIN)
        if position.stage == BACKWARD:  # from a hook of a parameter: one backward pass is one step of all of them
            position.stepped = position.stepped or optimizer
            position.stepping_in_backward.add(optimizer)
        position.set_stage(OPTIMIZER)
        events.step_begin(optimizer)

    def end(optimizer: Any, args: Any, kwargs: Any) -> None:
        in_backward = optimizer in position.stepping_in_backward
        position.set_stage(BACKWARD if in_backward else OTHER)
        events.step_end(optimizer)
        if in_backward:
            position.stepping_in_backward.discard(optimizer)
        else:
            events.training_step(optimizer)

    module.register_optimizer_step_pre_hook(begin)
    module.register_optimizer_step_post_hook(end)


def saving(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function that saves: the phase is `save` while it runs."""

    @functools.wraps(original)
    def save(*args: Any, **kwargs: Any) -> Any:
        before = position.phase
        position.set_phase(SAVE)
        try:
            return original(*args, **kwargs)
        finally:
            position.set_phase(before)

    return save


def _batch_arrives(loader_pass: Any, batch: Any) -> None:
    position.set_stage(INPUT)


def install(torch: Any) -> None:
    import warnings

    from torch.nn.modules import module

    # Ours do nothing in compiled regions; the user could do nothing about them.
    warnings.filterwarnings("ignore", message="Using `torch.compile\\(module\\)` when there are global hooks")
    enter, leave = _make_module_hooks(torch)
    module.register_module_forward_pre_hook(enter)
    module.register_module_forward_hook(leave, always_call=True)
    _watch_backward(torch)
    _watch_optimizers(torch)
    quiet_forwards.install()
    events.batch.listen(_batch_arrives)
