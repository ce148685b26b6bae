"""Tells the recorder whose the live blocks are: weights, buffers, gradients, optimizer state, inputs.

Activations need no telling: they are what is left of the blocks allocated in the forward stage, by scope. What takes a
walk over everything that is alive (averages, masters, other models, quantization) is told by ownership/census.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from vramfit.base import events, process, recorder
from vramfit.base.around import around
from vramfit.observe import scopes
from vramfit.observe.ownership import leaves, quantization
from vramfit.observe.ownership.storages import address_of, addresses_of, parts

_MAX_NESTING = 6
_FIRST_STEPS = 3  # of an optimizer, in which all that it holds is looked at


class _State:
    KEEPS = ("optimizers", "stepped")

    def __init__(self) -> None:
        self.optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self.tagged_roots: dict[
            int, int
        ] = {}  # id of a root's module -> where its first parameter was when it was tagged
        self.tagged_states: dict[int, int] = {}  # id of an optimizer -> how many state tensors were tagged
        self.steps: dict[int, int] = {}  # id of an optimizer -> steps taken
        self.names: dict[int, int] = {}  # id of a parameter -> string id of its name
        self.claims: dict[
            int, tuple[Any, int, str]
        ] = {}  # id of a model that is none to be trained -> itself, owner, name
        self.stepped = False  # an optimizer stepped since the last backward pass


_state = process.own(_State)


def tag(tensor: Any, owner: int, text_id: int) -> None:
    """All plain tensors that it is made of."""
    for part in parts(tensor):
        address = address_of(part)
        if address:
            recorder.tag(address, owner, text_id)


def _tag_weight(weight: Any, text_id: int) -> None:
    numbers, state = quantization.split(weight)
    for part in numbers:
        address = address_of(part)
        if address:
            recorder.tag(address, recorder.WEIGHT, text_id)
    for part in state:
        tag(part, recorder.QUANTIZATION, text_id)


def claim(module: Any, owner: int, name: str) -> None:
    """What the census found a model to be: its root is not called weights again."""
    inner = scopes.unwrap(module)
    if owner == recorder.WEIGHT:
        _state.claims.pop(id(inner), None)
    else:
        _state.claims[id(inner)] = (weakref.ref(inner), owner, name)


def tag_root(module: Any) -> None:
    """Weights and buffers of a root; again when they have moved."""
    inner = scopes.unwrap(module)
    first = next(filter(scopes.is_there, inner.parameters()), None)
    where = address_of(parts(first)[0]) if first is not None else 0
    if _state.tagged_roots.get(id(inner)) == where:
        return
    _state.tagged_roots[id(inner)] = where
    known = _state.claims.get(id(inner))
    if known is not None and known[0]() is inner:
        tag_model(inner, known[1], known[2])
    else:
        tag_model(inner, recorder.WEIGHT)


def tag_model(module: Any, owner: int, name: str = "") -> None:
    """Everything that a model registered: as weights and buffers, or all as that of an average or of another model."""
    inner = scopes.unwrap(module)
    if owner != recorder.WEIGHT:
        text = recorder.intern(name)
        for tensor in (*inner.parameters(), *inner.buffers()):
            if scopes.is_there(tensor):
                tag(tensor, owner, text)
        return
    for name, parameter in inner.named_parameters():
        if not scopes.is_there(parameter):
            continue
        text = _state.names[id(parameter)] = recorder.intern(name)
        _tag_weight(parameter, text)
        if parameter.grad is not None:
            tag(parameter.grad, recorder.GRADIENT, text)
    for name, buffer in inner.named_buffers():
        if scopes.is_there(buffer):
            tag(buffer, recorder.BUFFER, recorder.intern(name))


def _parameters(optimizer: Any) -> Iterator[Any]:
    for group in optimizer.param_groups:
        yield from group["params"]


def tag_gradients(parameters: Iterable[Any]) -> None:
    """Gradients are new blocks in every step that set them to None."""
    tell, gradient, names = recorder.tag, recorder.GRADIENT, _state.names
    plain = sys.modules["torch"].Tensor
    for parameter in parameters:
        grad = parameter.grad
        if grad is not None and grad.is_cuda:
            name = names.get(id(parameter), 0)
            # Anywhere inside the block will do; a storage object would cost more than all the rest.
            if type(grad) is plain and not grad.is_sparse:
                tell(grad.data_ptr(), gradient, name)
            else:
                tag(grad, gradient, name)


def tag_state(optimizer: Any) -> int:
    """Optimizer state, and master copies of the weights where an optimizer keeps them. Returns its bytes."""
    tensors = list(state_tensors(optimizer))
    if _state.tagged_states.get(id(optimizer)) != len(tensors):
        _state.tagged_states[id(optimizer)] = len(tensors)
        for name, tensor in tensors:
            tag(tensor, recorder.OPTIMIZER_STATE, recorder.intern(name))
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
            tag(tensor, recorder.INPUT_BLOCK, recorder.intern(name))


@dataclass
class ModelWeights:
    """Where the weights of models lie now, and how many bytes their narrowest float has."""

    addresses: set[int]
    narrowest: int

    @classmethod
    def of(cls, modules: Iterable[Any]) -> ModelWeights:
        weights = [
            part for module in modules for each in module.parameters() if scopes.is_there(each) for part in parts(each)
        ]
        widths = [each.dtype.itemsize for each in weights if each.is_cuda and each.dtype.is_floating_point]
        return cls({address_of(each) for each in weights}, min((width for width in widths if width > 1), default=8))


def _tag_own_weights(optimizer: Any, models: ModelWeights) -> None:
    """What an optimizer works on and no model has: wider masters of a model's weights, or weights without a module."""
    for parameter in _parameters(optimizer):
        address = address_of(parameter)
        if address and address not in models.addresses:
            recorder.tag(address, recorder.MASTER if _is_master(parameter, models) else recorder.WEIGHT, 0)


def find_moved_bytes(optimizer: Any) -> int:
    """The bytes of what it moves that is neither a parameter nor a model's: the image of a style transfer, latents."""
    models, parameter_class = _models_called(), sys.modules["torch"].nn.Parameter
    return sum(
        each.numel() * each.element_size()
        for each in _parameters(optimizer)
        if not isinstance(each, parameter_class)
        and each.is_cuda
        and address_of(each) not in models.addresses
        and not _is_master(each, models)
    )


def _is_master(parameter: Any, models: ModelWeights) -> bool:
    return bool(parameter.dtype.is_floating_point and parameter.dtype.itemsize > models.narrowest)


def tag_optimizer(optimizer: Any, models: ModelWeights) -> list[int]:
    """All that it holds. Returns where that lies."""
    _tag_own_weights(optimizer, models)
    tag_state(optimizer)
    tag_gradients(_parameters(optimizer))
    tensors = [tensor for _, tensor in state_tensors(optimizer)]
    for parameter in _parameters(optimizer):
        tensors += [parameter] if parameter.grad is None else [parameter, parameter.grad]
    return [address for tensor in tensors for address in addresses_of(tensor)]


def _models_called() -> ModelWeights:
    return ModelWeights.of(module for _, module in scopes.live_roots())


def _after_backward() -> None:
    """Gradients that no optimizer's step comes to tell: they are accumulated, or the script steps itself."""
    stepped, _state.stepped = _state.stepped, False
    if not stepped:
        for _, module in scopes.live_roots():
            tag_gradients(module.parameters())
        tag_gradients(leaves.kept())


def _gradients_returned(inputs: Any, gradients: Any) -> None:
    """Tags the gradients of parameters that torch.autograd.grad returned. One of something else is a part of the
    forward pass."""
    inputs = [inputs] if hasattr(inputs, "untyped_storage") else inputs
    parameter_class = sys.modules["torch"].nn.Parameter
    for each, gradient in zip(inputs, gradients):
        if gradient is not None and isinstance(each, parameter_class):
            tag(gradient, recorder.GRADIENT, _state.names.get(id(each), 0))


def _before_step(optimizer: Any) -> None:
    _state.optimizers.add(optimizer)
    _state.stepped = True
    if _state.steps.get(id(optimizer), 0) < _FIRST_STEPS:
        _tag_own_weights(optimizer, _models_called())
    tag_gradients(_parameters(optimizer))


def _after_step(optimizer: Any) -> None:
    # State appears in the first step, for parameters frozen until later in a later one.
    seen = _state.steps.get(id(optimizer), 0)
    _state.steps[id(optimizer)] = seen + 1
    if seen < _FIRST_STEPS or seen % 50 == 0:
        tag_state(optimizer)


def live_optimizers() -> list[Any]:
    return list(_state.optimizers)


def tag_everything() -> None:
    """Tags at an OOM the gradients and states that the step didn't come to tell."""
    for _, module in scopes.live_roots():
        tag_root(module)
        tag_gradients(module.parameters())
    models = _models_called()
    for optimizer in live_optimizers():
        tag_optimizer(optimizer, models)


def install(torch: Any) -> None:
    events.root_enter.listen(_before_root)
    events.backward_end.listen(_after_backward)
    events.gradients_returned.listen(_gradients_returned)
    events.step_begin.listen(_before_step)
    events.step_end.listen(_after_step)
    _watch_moves(torch)


def _watch_moves(torch: Any) -> None:
    """A model that is moved to the device is tagged there and then: the job may never come to its forward pass."""

    def move(module: Any, *_: Any, **__: Any) -> Iterator[Any]:
        yield
        if next(iter(module.parameters()), None) is not None:
            tag_root(module)

    for name in ("to", "cuda"):
        setattr(torch.nn.Module, name, around("owners.move", getattr(torch.nn.Module, name), move))
