"""What each living model is to the training: the one that is trained, an average of its weights, or another model.

    trained     an optimizer holds its parameters, or a backward pass filled them with gradients
    average     the same shapes, no gradients, written as the training goes on (writes.py)
    other       the same and never written, or frozen: a reference, a teacher, a target, a frozen encoder

Where nothing is trained every model's weights are weights. Within a trained model, a part that repeats a trained part
beside it is judged in the same way: encoder_q and encoder_k, student and teacher in one module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from vramfit.base import recorder
from vramfit.observe import scopes
from vramfit.observe.ownership import likeness, names, storages, writes
from vramfit.observe.ownership.walk import Living
from vramfit.private import torch as of_torch

_INNER_LEVELS = 2  # of a model's tree that are searched for copies of its parts


@dataclass
class Trained:
    """The parameters that the job trains."""

    ids: set[int] = field(default_factory=set)
    addresses: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, living: Living, with_gradients: set[int]) -> Trained:
        found = cls(set(with_gradients))
        for optimizer in living.optimizers:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    found.ids.add(id(parameter))
                    found.addresses.update(storages.addresses_of(parameter))
        return found

    def has(self, parameter: Any) -> bool:
        if id(parameter) in self.ids or parameter.grad is not None:
            return True
        return storages.address_of(parameter) in self.addresses


@dataclass
class Role:
    """What a model, or a part of one, is; of everything below it."""

    module: Any
    owner: int
    name: str = ""


def weights_of(module: Any) -> list[Any]:
    """Parameters on a card; buffers of a model that keeps its weights as buffers, as some averages do."""
    parameters = [each for each in module.parameters() if scopes.is_there(each)]
    if not parameters:
        parameters = [each for each in module.buffers() if scopes.is_there(each) and each.dtype.is_floating_point]
    return [each for each in parameters if each.is_cuda]


@dataclass
class Roles:
    roles: list[Role]
    models: list[likeness.Likeness]  # those that are trained


def find(living: Living, trained: Trained) -> Roles:
    """The roles of every model that is on a card."""
    models = [(model, weights_of(model)) for model in living.models()]
    models = [(model, weights) for model, weights in models if weights]
    own = {id(model): [each for each in weights if trained.has(each)] for model, weights in models}
    known: list[likeness.Likeness] = []
    for model, weights in models:
        if own[id(model)]:
            known += likeness.likenesses(weights, own[id(model)])
    hidden = [models, living.modules]
    hidden += [list_of for list_of in own.values()]
    found = []
    for model, weights in models:
        if own[id(model)]:
            found.append(Role(model, recorder.WEIGHT))
            found += _inner(scopes.unwrap(model), trained, hidden)
        else:
            found.append(_role_beside(model, weights, known, hidden))
    return Roles(found, known)


def _role_beside(model: Any, weights: list[Any], known: list[likeness.Likeness], hidden: list[Any]) -> Role:
    shapes = likeness.shapes_of(weights)
    if any(each.covers(shapes) for each in known):
        return _role_of_copy(model, weights, hidden)
    if known and not any(weight.requires_grad for weight in weights) and any(True for _ in model.parameters()):
        return Role(model, recorder.OTHER_MODEL, names.of(model, [*hidden, weights]))
    return Role(model, recorder.WEIGHT)


def _role_of_copy(model: Any, weights: list[Any], hidden: list[Any], name: str = "") -> Role:
    writes.watch(id(model), weights)
    name = name or names.of(model, [*hidden, weights])
    if writes.is_written(id(model)) or names.is_average(name) or names.is_average(type(model).__name__):
        return Role(model, recorder.AVERAGE, name)
    return Role(model, recorder.OTHER_MODEL, name)


def _inner(module: Any, trained: Trained, hidden: list[Any], prefix: str = "") -> Iterator[Role]:
    """Parts of a trained model that are copies of a trained part beside them.

    Frozen blocks of one network are like their trained neighbours too: those are items of a list, or lie deep inside.
    """
    parts = [
        (name, child, weights_of(child)) for name, child in of_torch.children.of(module).items() if child is not None
    ]
    parts = [part for part in parts if part[2]]
    is_trained = {name: any(trained.has(weight) for weight in weights) for name, _, weights in parts}
    beside = [likeness.Likeness(likeness.shapes_of(w), 0) for name, _, w in parts if is_trained[name]]
    for name, child, weights in parts:
        if is_trained[name]:
            if prefix.count(".") < _INNER_LEVELS:
                yield from _inner(child, trained, hidden, f"{prefix}{name}.")
        elif (
            not name.isdigit()
            and of_torch.children.of(child)
            and any(each.covers(likeness.shapes_of(weights)) for each in beside)
        ):
            yield _role_of_copy(child, weights, [*hidden, parts], f"{prefix}{name}")
