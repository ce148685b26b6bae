"""Copies of a model's weights that are no model: lists and dicts of tensors, told by who holds them and what they do.

    wider than the weights, with gradients of their own     masters
    written as the training goes on                         an average, where an optimizer keeps the moments itself
    never written                                           another model: a kept state, a reference

A job without an optimizer of PyTorch's keeps its own moments in such lists: they are optimizer state, unless their
name says that they are an average.
"""

from __future__ import annotations

import gc
from typing import Any

from vramfit.base import recorder
from vramfit.observe.ownership import likeness, names, storages, writes
from vramfit.observe.ownership.walk import Living

Tagged = tuple[Any, int, str]  # a tensor, its owner, and a name
_LEAST_BYTES = 1 << 20


def find(living: Living, known: list[likeness.Likeness], claimed: set[int]) -> list[Tagged]:
    """Tensors outside of models and optimizers that are copies of trained weights."""
    loose = [tensor for tensor in living.tensors if _may_be_weight(tensor, claimed)]
    if not known or sum(storages.bytes_of(tensor) for tensor in loose) < _LEAST_BYTES:
        return []
    wanted = {id(tensor) for tensor in loose}
    found: list[Tagged] = []
    taken: set[int] = set()
    for container in _containers(loose, living):
        tensors = [each for each in _items(container) if id(each) in wanted and id(each) not in taken]
        shapes = likeness.shapes_of(tensors)
        like = next((each for each in known if each.covers(shapes, may_be_flat=True)), None)
        if like is None:
            continue
        taken.update(id(each) for each in tensors)
        owner, name = _judge(container, tensors, like, bool(living.optimizers), [loose, living.tensors, tensors])
        found += [(each, owner, name) for each in tensors]
        found += [(each.grad, recorder.GRADIENT, name) for each in tensors if each.is_leaf and each.grad is not None]
    return found


def _may_be_weight(tensor: Any, claimed: set[int]) -> bool:
    return (
        tensor.grad_fn is None
        and tensor.dtype.is_floating_point
        and tensor.dim() > 0
        and (address := storages.address_of(tensor)) != 0
        and address not in claimed
    )


def _containers(loose: list[Any], living: Living) -> list[Any]:
    ours = {id(loose), id(living.tensors)}
    return [
        referrer
        for referrer in gc.get_referrers(*loose)
        if id(referrer) not in ours and isinstance(referrer, (list, tuple, dict))
    ]


def _items(container: Any) -> list[Any]:
    return list(container.values()) if isinstance(container, dict) else list(container)


def _judge(container: Any, tensors: list[Any], like: likeness.Likeness, optimized: bool, hidden: list[Any]) -> Any:
    writes.watch(id(container), tensors)
    name = names.of(container, hidden)
    if names.is_gradient(name):
        return recorder.GRADIENT, name
    if tensors[0].dtype.itemsize > like.width and any(each.requires_grad for each in tensors):
        return recorder.MASTER, name
    if names.is_average(name):
        return recorder.AVERAGE, name
    if names.is_moment(name):
        return recorder.OPTIMIZER_STATE, name
    if not writes.is_written(id(container)):
        return recorder.OTHER_MODEL, name
    return (recorder.AVERAGE if optimized else recorder.OPTIMIZER_STATE), name
