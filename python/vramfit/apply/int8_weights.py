"""Weights of jobs that only evaluate as 8-bit integers with a scale for each output channel.

A layer's weight is made again from them when it is asked for, so one layer's is there at a time, and every code that
reads `layer.weight` gets numbers. Embeddings look up the integers and make numbers of those rows alone.

Where a network goes to the card, its layers go there one by one, each as integers before the next one comes: the card
never holds the weights as they were. A network that was made on the card is taken at its first evaluation.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from vramfit import apply
from vramfit.apply import foreign_forwards, torch_script
from vramfit.apply.half_evaluation import watch_moves
from vramfit.base import events, process
from vramfit.base.recorder import TRAIN
from vramfit.contract import plans
from vramfit.observe import phases, scopes

ID = "int8_weights"
_LARGEST = 127
_SMALLEST = 1e-12  # of a scale: channels of zeros
_FEWEST = 4096  # numbers in a weight: smaller ones are not worth it
_WEIGHTS = ("weight", "in_proj_weight")  # the second is attention's
_PARTS = ("integers", "scale")  # what there is instead of each


class Int8Weights:
    KEEPS = process.ALL
    id = ID
    bits = 8

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        layers = torch.nn
        self._kinds: tuple[Any, ...] = (layers.Linear, layers.Embedding, layers.MultiheadAttention)
        self._kinds += (layers.Conv1d, layers.Conv2d, layers.Conv3d)
        self._classes: dict[tuple[type, str], type] = {}

    # -- when

    def before_move(self, module: Any, device: Any) -> None:
        if device is not None and device.type == "cuda":
            self.keep(module, device)

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        root = scopes.root_of(module)
        if root is None or not root.parameters or torch_script.is_being_made():
            return
        if module.training or phases.position.phase == TRAIN:
            if any(map(is_kept, module.modules())):
                apply.refused(self.id, "the script calls its network in training mode, whose weights stay as they are")
            return
        self.keep(module, None)
        kept = sum(map(is_kept, module.modules()))
        if kept:
            apply.applied(self.id, f"weights of {kept} layers are kept in {self.bits} bits")
        elif foreign_forwards.kind_of(module) == "scripted":
            apply.refused(self.id, "the network is TorchScript, which reads its weights by itself")
        else:
            apply.refused(
                self.id, f"{type(module).__name__} has no linear layers, convolutions or embeddings to speak of"
            )

    def trains(self, *_: Any) -> None:
        apply.refused(self.id, f"the script trains: weights in {self.bits} bits are for jobs that only evaluate")

    def before_script(self, module: Any) -> None:
        if any(map(is_kept, module.modules())):
            apply.ended(self.id, f"TorchScript is made of the network, whose weights are kept in {self.bits} bits")

    # -- how

    def keep(self, model: Any, device: Any) -> None:
        """All that are large enough; on `device`, or where they are. Weights that layers share stay shared."""
        known: dict[int, tuple[weakref.ref[Any], Any, Any]] = {}  # by id of a weight, which goes with its last layer
        with self._torch.inference_mode(False), self._torch.no_grad():
            for layer in list(model.modules()):
                name, weight = self._weight_of(layer)
                if weight is None:
                    continue
                if id(weight) not in known or known[id(weight)][0]() is not weight:
                    known[id(weight)] = (weakref.ref(weight), *self._quantize(weight, device))
                self._put(layer, name, known[id(weight)][1:])
                del weight

    def _weight_of(self, layer: Any) -> tuple[str, Any]:
        if not isinstance(layer, self._kinds) or getattr(layer, "max_norm", None) is not None:
            return "", None
        for name, weight in layer.named_parameters(recurse=False):
            is_one = name in _WEIGHTS and scopes.is_there(weight) and weight.is_floating_point() and not weight.is_meta
            if is_one and weight.numel() >= _FEWEST:
                return name, weight
        return "", None

    def _quantize(self, weight: Any, device: Any) -> tuple[Any, Any]:
        values = weight.detach() if device is None else weight.detach().to(device)
        scale = values.abs().amax(dim=tuple(range(1, values.dim())), keepdim=True)
        scale = (scale / _LARGEST).clamp_(min=_SMALLEST)
        parameter = self._torch.nn.Parameter
        integers = (values / scale).round_().clamp_(-_LARGEST, _LARGEST).to(self._torch.int8)
        return parameter(integers, requires_grad=False), parameter(scale, requires_grad=False)

    @staticmethod
    def make(integers: Any, scale: Any) -> Any:
        """Numbers again, of a weight or of some of its rows."""
        return integers * scale

    def _put(self, layer: Any, name: str, tensors: tuple[Any, Any]) -> None:
        shape = tuple(getattr(layer, name).shape)
        delattr(layer, name)
        for part, tensor in zip(_PARTS, tensors):
            layer.register_parameter(f"{name}_{part}", tensor)
        kind = type(layer)
        if (kind, name) not in self._classes:
            self._classes[kind, name] = _class_of(self._torch, kind, name, self.make)
        layer.vramfit_shape = shape
        layer.__class__ = self._classes[kind, name]

    def load(self, layer: Any, weight: Any) -> None:
        """Loads what a checkpoint has for a layer that is kept."""
        with self._torch.inference_mode(False), self._torch.no_grad():
            integers, scale = parts_of(layer)
            made = self._quantize(weight.to(scale.dtype), integers.device)
            integers.copy_(made[0])
            scale.copy_(made[1])


def kept_name(layer: Any) -> str:
    """The name of the weight that is kept in integers; empty where none is."""
    return getattr(type(layer), "vramfit_kept", "")


def is_kept(layer: Any) -> bool:
    return bool(kept_name(layer))


def parts_of(layer: Any) -> tuple[Any, Any]:
    integers, scale = (getattr(layer, f"{kept_name(layer)}_{part}") for part in _PARTS)
    return integers, scale


def _class_of(torch: Any, kind: type, name: str, make: Callable[[Any, Any], Any]) -> type:
    """`kind`, whose weight of that name is made when it is asked for."""
    embedding = torch.nn.functional.embedding

    def weight(self: Any) -> Any:
        return make(*parts_of(self)).reshape(self.vramfit_shape)

    def embed(self: Any, input: Any) -> Any:
        integers, scale = parts_of(self)
        return make(embedding(input, integers), embedding(input, scale))

    def state_dict(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Gives the weights as they were: a script that saves them gets numbers."""
        result = kind.state_dict(self, *args, **kwargs)  # type: ignore[attr-defined]
        prefix = kwargs.get("prefix", "")
        for part in _PARTS:
            result.pop(f"{prefix}{name}_{part}", None)
        integers, scale = parts_of(self)
        result[prefix + name] = make(integers.cpu(), scale.cpu()).reshape(self.vramfit_shape)
        return result

    own = {name: property(weight), "state_dict": state_dict, "vramfit_kept": name, "__module__": kind.__module__}
    if issubclass(kind, torch.nn.Embedding) and kind.forward is torch.nn.Embedding.forward:  # type: ignore[attr-defined]
        own["forward"] = embed
    return type(kind.__name__, (kind,), own)


def _watch_loading(torch: Any, technique: Int8Weights) -> None:
    original = torch.nn.Module.load_state_dict

    @functools.wraps(original)
    def load_state_dict(self: Any, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        kept = {name: layer for name, layer in self.named_modules() if is_kept(layer)}
        if not kept:
            return original(self, state_dict, *args, **kwargs)
        changed = state_dict.copy()
        for place, layer in kept.items():
            name = f"{place}.{kept_name(layer)}".removeprefix(".")
            if name in changed:
                technique.load(layer, changed.pop(name))
            for part, tensor in zip(_PARTS, parts_of(layer)):
                changed[f"{name}_{part}"] = tensor
        return original(self, changed, *args, **kwargs)

    torch.nn.Module.load_state_dict = load_state_dict


def install(torch: Any, options: plans.Int8Weights) -> None:
    put_in_place(torch, process.own(Int8Weights, torch))


def put_in_place(torch: Any, technique: Int8Weights) -> None:
    events.root_enter.listen(technique.enter)
    events.backward_begin.listen(technique.trains)
    events.optimizer_made.listen(technique.trains)
    watch_moves(torch, technique.before_move)
    _watch_loading(torch, technique)
    torch_script.before_made(torch, technique.before_script)
