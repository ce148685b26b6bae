"""Channels of a network taken out before its optimizer is made, by the package torch-pruning: another training.

Which go, the weights tell, where there are any: a run whose values are not computed takes the first of each layer,
which leaves the same sizes. What is called for it are no forwards of the script's, and none of its random numbers go.
"""

from __future__ import annotations

import importlib.util
from typing import Any

from vramfit import apply
from vramfit.apply import fewer_channels
from vramfit.apply import optimizer_making as making
from vramfit.base import notes, process
from vramfit.contract import notes as said
from vramfit.contract import plans
from vramfit.observe import phases, scopes
from vramfit.private import torch_pruning as of_pruning

ID = "prune"


class Prune:
    KEEPS = process.ALL

    def __init__(self, torch: Any, options: plans.Prune) -> None:
        self._torch = torch
        self._share = options.share
        self._sample = options.sample
        self._has_values = apply.has_values()
        self._seen: set[int] = set()  # ids of parameters whose networks were looked at

    def before_optimizer(self, parameters: list[Any]) -> None:
        new = {id(p) for p in parameters if p.requires_grad and id(p) not in self._seen}
        if not new:
            return
        self._seen.update(new)
        models, others = making.models_of(self._torch, new)
        models = [model for model in models if any(map(_is_convolution, model.modules()))]
        if not models:
            return
        self._check(models, others)
        self._take_out(models[0])

    def _check(self, models: list[Any], others: list[Any]) -> None:
        if len(models) > 1:
            apply.refused(ID, "the optimizer is made for several networks, and the plan has the shape of one input")
        if sharing := making.sharing_in(models):
            apply.refused(ID, f"the model is within a {sharing} before its optimizer is made: it knows all weights")
        if type(models[0]).__name__ == "OptimizedModule":
            apply.refused(ID, "the model is compiled before its optimizer is made")
        trained = making.shapes(models[0])
        if any(making.shapes(one) == trained for one in others):
            name = type(models[0]).__name__
            apply.refused(ID, f"a second {name} is there, an average or a teacher: it would have other channels")

    def _take_out(self, model: Any) -> None:
        before = _numbers(model)
        rank = None if self._has_values else self._in_order
        try:
            with phases.calls_of_ours(model):
                fewer_channels.take_channels_out(model, self._share, self._sample, rank)
        except ValueError as error:
            apply.refused(ID, str(error))
        left = _numbers(model)
        if left >= before:
            apply.refused(ID, f"{type(model).__name__} has no layer whose channels could be taken out")
        text = f"{100 * self._share:g} % of the channels taken out of {type(model).__name__}"
        text += f": {left} numbers are trained instead of {before}"
        apply.applied(ID, text)
        notes.note(said.PlanEffect(id=ID, text=text))

    def _in_order(self, group: Any) -> Any:
        channels = of_pruning.channels.of(group[0])
        if channels is None:
            raise ValueError("this release of Torch-Pruning does not say which channels a layer has")
        return self._torch.arange(len(channels), dtype=self._torch.float32)


def _is_convolution(module: Any) -> bool:
    return type(module).__name__ in ("Conv1d", "Conv2d", "Conv3d")


def _numbers(model: Any) -> int:
    return sum(parameter.numel() for parameter in filter(scopes.is_there, model.parameters()))


def install(torch: Any, options: plans.Prune) -> None:
    if importlib.util.find_spec("torch_pruning") is None:
        apply.refused(ID, "the script's Python has no torch_pruning: pip install torch-pruning")
        return
    making.before_made(torch, process.own(Prune, torch, options).before_optimizer)
