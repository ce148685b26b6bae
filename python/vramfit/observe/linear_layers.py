"""Linear layers of the networks that are trained, for adapters of low rank (plan/techniques/lora, apply/lora.py).

Of a network in which linear layers are trained:

    adapted     their weights stand still, and two thin matrices beside each are trained
    whole       trained as before: a layer that is no larger than its adapters, and the last one, which is the task's
    frozen      all else: embeddings, normalisation, biases, the layer that puts out words
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from vramfit.base import events, importing, notes, process
from vramfit.base.around import around
from vramfit.contract import notes as said
from vramfit.contract import plans
from vramfit.observe import scopes

RANK = plans.Lora.rank  # that the planner asks for: peft's default
_MOST_OF_HEAD = 0.05  # of the network's numbers: a last layer that is larger is no head of a task
_LEAST_LOADED = 0.5  # of what is trained: a network that was loaded, and not only a part of it


@dataclass
class Choice:
    adapted: list[tuple[str, Any]] = field(default_factory=list)  # names and layers
    whole: list[Any] = field(default_factory=list)  # layers
    frozen: int = 0  # numbers that are not trained today

    def width(self) -> int:
        """Numbers of adapters of rank 1."""
        return sum(sum(layer.weight.shape) for _, layer in self.adapted)


def is_transposed(layer: Any) -> bool:
    """GPT-2's layers of transformers hold their weight the other way round."""
    return type(layer).__name__ == "Conv1D" and type(layer).__module__ == "transformers.pytorch_utils"


def is_linear(torch: Any, layer: Any) -> bool:
    """Whether it is torch's own, not a class of somebody's, whose forward may do something else."""
    return type(layer) is torch.nn.Linear or is_transposed(layer)


def choose(torch: Any, model: Any, trained: set[int], rank: int) -> Choice:
    """What becomes of a network's layers; `trained`: ids of the parameters that an optimizer has."""
    times: dict[int, int] = {}
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            times[id(parameter)] = times.get(id(parameter), 0) + 1
    choice = Choice()
    total = 0
    for parameter in filter(scopes.is_there, model.parameters()):
        total += parameter.numel()
        choice.frozen += 0 if id(parameter) in trained else parameter.numel()
    linear = [
        (name, layer)
        for name, layer in model.named_modules()
        if is_linear(torch, layer) and id(layer.weight) in trained and layer.weight.is_floating_point()
    ]
    words = _output_layer(model)
    alone = [(name, layer) for name, layer in linear if times[id(layer.weight)] == 1 and layer is not words]
    for number, (name, layer) in enumerate(alone):
        size = layer.weight.numel()
        is_head = layer is linear[-1][1] and size <= _MOST_OF_HEAD * total and number > 0
        if is_head or 2 * rank * sum(layer.weight.shape) > size:
            choice.whole.append(layer)
        else:
            choice.adapted.append((name, layer))
    return choice


def _output_layer(model: Any) -> Any:
    """The layer of a language model of transformers that puts out words; None where there is none."""
    for module in model.modules():
        if type(module).__module__.startswith("transformers.") and hasattr(module, "get_output_embeddings"):
            try:
                return module.get_output_embeddings()
            except (AttributeError, NotImplementedError):
                return None
    return None


# -- what was loaded


class _State:
    KEEPS = ("loaded",)  # a child trains what its parent has loaded

    def __init__(self) -> None:
        self.loaded = 0  # numbers of the largest network whose weights came from somewhere
        self.said: set[int] = set()  # ids of networks
        self.stepped: set[int] = set()  # ids of optimizers


_state = process.own(_State)


def _has_loaded(model: Any) -> None:
    numbers = sum(parameter.numel() for parameter in filter(scopes.is_there, model.parameters()))
    _state.loaded = max(_state.loaded, numbers)


def _watch_loading(torch: Any) -> None:
    def load_state_dict(model: Any, *_: Any, **__: Any) -> Iterator[Any]:
        yield
        _has_loaded(model)

    module = torch.nn.Module
    module.load_state_dict = around("linear layers", module.load_state_dict, load_state_dict)


def _watch_pretrained(module: Any) -> None:
    def from_pretrained(*_: Any, **__: Any) -> Iterator[Any]:
        result = yield
        _has_loaded(result[0] if isinstance(result, tuple) else result)

    own = module.PreTrainedModel.from_pretrained.__func__
    module.PreTrainedModel.from_pretrained = classmethod(around("linear layers", own, from_pretrained))


# -- what is told


def _trained_by(optimizer: Any) -> Iterator[Any]:
    for group in optimizer.param_groups:
        yield from (parameter for parameter in group["params"] if parameter.requires_grad)


@notes.guarded("linear layers")
def _look(torch: Any, optimizer: Any) -> None:
    if id(optimizer) in _state.stepped:
        return
    _state.stepped.add(id(optimizer))
    trained = {id(parameter) for parameter in _trained_by(optimizer)}
    for _, model in scopes.live_roots():
        if id(model) in _state.said or not any(id(parameter) in trained for parameter in model.parameters()):
            continue
        _state.said.add(id(model))
        choice = choose(torch, model, trained, RANK)
        numbers = sum(p.numel() for p in model.parameters() if id(p) in trained)
        notes.note(
            said.LinearLayers(
                trained=numbers,
                frozen=choice.frozen,
                adapted=sum(layer.weight.numel() for _, layer in choice.adapted),
                layers=len(choice.adapted),
                width=choice.width(),
                whole=sum(p.numel() for layer in choice.whole for p in layer.parameters()),
                halved=_halved(torch, model, trained, choice),
                loaded=_state.loaded >= _LEAST_LOADED * numbers,
            )
        )


def kept_in_half(torch: Any, model: Any, trained: set[int], choice: Choice) -> list[Any]:
    """Layers whose weights will stand still, and may be held in half the bytes."""
    adapted = {id(layer) for _, layer in choice.adapted}
    whole = {id(parameter) for layer in choice.whole for parameter in layer.parameters()}
    found = []
    for layer in model.modules():
        is_kind = id(layer) in adapted or is_linear(torch, layer) or type(layer) is torch.nn.Embedding
        if not is_kind or getattr(layer, "max_norm", None) is not None:  # which changes its weights when it is called
            continue
        stands_still = id(layer.weight) in trained and id(layer.weight) not in whole
        if stands_still and layer.weight.dtype == torch.float32:
            found.append(layer)
    return found


def _halved(torch: Any, model: Any, trained: set[int], choice: Choice) -> int:
    weights = {id(layer.weight): layer.weight for layer in kept_in_half(torch, model, trained, choice)}
    return sum(weight.numel() for weight in weights.values())


def install(torch: Any) -> None:
    _watch_loading(torch)
    importing.after_import("transformers.modeling_utils", _watch_pretrained)
    events.step_end.listen(functools.partial(_look, torch))
