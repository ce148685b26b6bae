"""Convolutions of the networks that are trained, whose channels could be taken out (plan/techniques/prune)."""

from __future__ import annotations

import importlib.util
from typing import Any

from vramfit.base import events, notes, process
from vramfit.contract import notes as said
from vramfit.observe import scopes

FEWEST = 32  # channels of a layer that has some to give: apply/fewer_channels.py


class _State:
    def __init__(self) -> None:
        self.samples: dict[int, list[int]] = {}  # by id of a network: the shape of a sample that it was called with
        self.stepped: set[int] = set()  # ids of optimizers
        self.said: set[int] = set()  # ids of networks


_state = process.own(_State)


@notes.guarded("convolution layers")
def _on_root_enter(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    inner = scopes.unwrap(module)
    if module.training and id(inner) not in _state.samples:
        _state.samples[id(inner)] = _sample_of(args, kwargs)


def _sample_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
    """The shape of a sample, for a network that is called with one batch of floating-point numbers and nothing else."""
    if len(args) != 1 or kwargs or not getattr(args[0], "is_floating_point", bool)():
        return []
    return list(args[0].shape[1:])


@notes.guarded("convolution layers")
def _look(optimizer: Any) -> None:
    if id(optimizer) in _state.stepped:
        return
    _state.stepped.add(id(optimizer))
    trained = {id(one) for group in optimizer.param_groups for one in group["params"] if one.requires_grad}
    for _, model in scopes.live_roots():
        own = [one for one in filter(scopes.is_there, model.parameters()) if id(one) in trained]
        layers = [module for module in model.modules() if _has_channels(module) and id(module.weight) in trained]
        if not layers or id(model) in _state.said:
            continue
        _state.said.add(id(model))
        notes.note(
            said.ConvolutionLayers(
                trained=sum(one.numel() for one in own),
                layers=len(layers),
                sample=_state.samples.get(id(model), []),
                torch_pruning=importlib.util.find_spec("torch_pruning") is not None,
            )
        )


def _has_channels(module: Any) -> bool:
    return type(module).__name__ in ("Conv1d", "Conv2d", "Conv3d") and module.out_channels >= FEWEST


def install() -> None:
    events.root_enter.listen(_on_root_enter)
    events.step_end.listen(_look)
