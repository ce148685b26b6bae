"""Tells the recorder whose the live blocks are: weights, buffers, gradients, optimizer state, inputs.

Activations need no telling: they are what is left of the blocks allocated in the forward stage, by scope.
"""

from __future__ import annotations

import functools
import os
import sys
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from vramfit import events, notes, recorder, scopes

_MAX_NESTING = 6

_optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
_tagged_roots: dict[int, int] = {}  # id of a root's module -> where its first parameter was when it was tagged
_tagged_states: dict[int, int] = {}  # id of an optimizer -> how many state tensors were tagged
_steps: dict[int, int] = {}  # id of an optimizer -> steps taken
_names: dict[int, int] = {}  # id of a parameter -> string id of its name


def _restart() -> None:
    _tagged_roots.clear()
    _tagged_states.clear()
    _steps.clear()
    _names.clear()


os.register_at_fork(after_in_child=_restart)


def address_of(tensor: Any) -> int:
    """Where a tensor's storage lies on a device; 0 for host tensors and those without one storage."""
    local = getattr(tensor, "_local_tensor", None)  # DTensor
    if local is not None:
        tensor = local
    if not getattr(tensor, "is_cuda", False):
        return 0
    try:
        storage = tensor.untyped_storage()
        # A fake tensor says that it is on the card, and its storage is nowhere: it has no address to ask for.
        return int(storage.data_ptr()) if storage.device.type == "cuda" else 0
    except (RuntimeError, NotImplementedError):  # sparse, wrapper subclasses
        return 0


def _tag(tensor: Any, owner: int, text_id: int) -> bool:
    address = address_of(tensor)
    if address:
        recorder.tag(address, owner, text_id)
    return address != 0


def tag_root(module: Any) -> None:
    """Weights and buffers of a root; again when they have moved."""
    inner = scopes.unwrap(module)
    first = next(filter(scopes.is_there, inner.parameters()), None)
    where = address_of(first) if first is not None else 0
    if _tagged_roots.get(id(inner)) == where:
        return
    _tagged_roots[id(inner)] = where
    for name, parameter in inner.named_parameters():
        if not scopes.is_there(parameter):
            continue
        text = _names[id(parameter)] = recorder.intern(name)
        _tag(parameter, recorder.WEIGHT, text)
        if parameter.grad is not None:
            _tag(parameter.grad, recorder.GRADIENT, text)
    for name, buffer in inner.named_buffers():
        if scopes.is_there(buffer):
            _tag(buffer, recorder.BUFFER, recorder.intern(name))


def _parameters(optimizer: Any) -> Iterator[Any]:
    for group in optimizer.param_groups:
        yield from group["params"]


def tag_gradients(parameters: Iterable[Any]) -> None:
    """Gradients are new blocks in every step that set them to None."""
    tag, gradient, names = recorder.tag, recorder.GRADIENT, _names
    plain = sys.modules["torch"].Tensor
    for parameter in parameters:
        grad = parameter.grad
        if grad is not None and grad.is_cuda:
            # Anywhere inside the block will do; a storage object would cost more than all the rest.
            address = grad.data_ptr() if type(grad) is plain else address_of(grad)
            tag(address, gradient, names.get(id(parameter), 0))


def tag_state(optimizer: Any) -> int:
    """Optimizer state, and master copies of the weights where an optimizer keeps them. Returns its bytes."""
    tensors = list(state_tensors(optimizer))
    if _tagged_states.get(id(optimizer)) != len(tensors):
        _tagged_states[id(optimizer)] = len(tensors)
        for name, tensor in tensors:
            _tag(tensor, recorder.OPTIMIZER_STATE, recorder.intern(name))
    return sum(tensor.numel() * tensor.element_size() for _, tensor in tensors)


def state_tensors(optimizer: Any) -> Iterator[tuple[str, Any]]:
    for state in optimizer.state.values():
        yield from _tensors(state, "state", 0)


def _tensors(value: Any, name: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Tensors inside lists, dicts and the outputs of models, with the key they were under."""
    if hasattr(value, "untyped_storage"):
        yield name, value
    elif depth >= _MAX_NESTING:
        return
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _tensors(item, str(key), depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item, name, depth + 1)


def tensors_in(*values: Any) -> list[tuple[str, Any]]:
    return list(_tensors(list(values), "input", -1))


def _before_root(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    root = scopes.root_of(module)
    if root is None or not root.parameters:
        return
    tag_root(module)
    for name, tensor in tensors_in(args, kwargs):
        # Hidden states handed from one root to another are activations, not inputs.
        if not tensor.requires_grad:
            _tag(tensor, recorder.INPUT_BLOCK, recorder.intern(name))


def _before_step(optimizer: Any) -> None:
    _optimizers.add(optimizer)
    tag_gradients(_parameters(optimizer))


def _after_step(optimizer: Any) -> None:
    # State appears in the first step, for parameters frozen until later in a later one.
    seen = _steps.get(id(optimizer), 0)
    _steps[id(optimizer)] = seen + 1
    if seen < 3 or seen % 50 == 0:
        tag_state(optimizer)


def live_optimizers() -> list[Any]:
    return list(_optimizers)


def tag_everything() -> None:
    """At an OOM: gradients and states that the step didn't come to tell."""
    for _, module in scopes.live_roots():
        tag_root(module)
        tag_gradients(module.parameters())
    for optimizer in live_optimizers():
        tag_state(optimizer)


def install(torch: Any) -> None:
    events.root_enter.listen(_before_root)
    events.step_begin.listen(_before_step)
    events.step_end.listen(_after_step)
    _watch_moves(torch)


def _watch_moves(torch: Any) -> None:
    """A model that is moved to the device is tagged there and then: the job may never come to its forward pass."""

    def wrap(name: str) -> None:
        original = getattr(torch.nn.Module, name)

        @functools.wraps(original)
        def move(self: Any, *args: Any, **kwargs: Any) -> Any:
            moved = original(self, *args, **kwargs)
            _after_move(self)
            return moved

        setattr(torch.nn.Module, name, move)

    for name in ("to", "cuda"):
        wrap(name)


def _after_move(module: Any) -> None:
    try:
        if next(iter(module.parameters()), None) is not None:
            tag_root(module)
    except Exception as error:
        notes.hook_failed("owners.move", error)
