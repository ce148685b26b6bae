"""Embeddings of the networks that are trained, whose gradients could hold the rows alone that a step uses
(plan/techniques/sparse_embeddings, apply/sparse_embeddings.py).

What an optimizer does with such gradients, by its group's options (PyTorch's documentation of torch.optim):

    SGD without momentum and weight decay, Adagrad without weight decay   the same, to the order of sums
    Adam, AdamW                                                           SparseAdam does: it moves rows in use alone
    all others                                                            nothing, or another thing
"""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from vramfit.base import events, notes, process
from vramfit.contract import notes as said
from vramfit.observe import owners, scopes

_SUMMING_MODES = ("sum", "mean")  # of an EmbeddingBag; "max" has no sparse gradients


@dataclass
class Choice:
    layers: list[Any] = field(default_factory=list)
    same: bool = True  # for all of them the script's own optimizer does the same
    why_not: str = ""


class _State:
    def __init__(self) -> None:
        self.rows = 0  # whole numbers that a network's largest call in training was given: rows it can ask for
        self.stepped: set[int] = set()  # ids of optimizers


_state = process.own(_State)


def is_for_embeddings(torch: Any, layer: Any) -> bool:
    """Whether it is torch's own, not a class of somebody's, whose forward may do something else."""
    if type(layer) is torch.nn.EmbeddingBag and layer.mode not in _SUMMING_MODES:
        return False
    return type(layer) in (torch.nn.Embedding, torch.nn.EmbeddingBag) and not layer.scale_grad_by_freq


def choose(torch: Any, optimizer: Any, models: list[Any]) -> Choice:
    """Those of this optimizer's whose gradients are of all rows and need not be."""
    groups = {id(one): group for group in optimizer.param_groups for one in group["params"] if one.requires_grad}
    modules = list({id(part): part for model in models for part in model.modules()}.values())
    times = Counter(id(one) for part in modules for one in part.parameters(recurse=False))
    choice = Choice()
    for layer in modules:
        if not is_for_embeddings(torch, layer) or layer.sparse or id(layer.weight) not in groups:
            continue
        same, why_not = what_becomes_of_it(torch, optimizer, groups[id(layer.weight)])
        if times[id(layer.weight)] > 1:
            why_not = "the weights of embeddings are another layer's too, whose gradient is of all rows"
        if why_not:
            choice.why_not = choice.why_not or why_not
        else:
            choice.same = choice.same and same
            choice.layers.append(layer)
    if choice.layers:
        choice.why_not = ""
    return choice


def what_becomes_of_it(torch: Any, optimizer: Any, group: dict[str, Any]) -> tuple[bool, str]:
    """Whether the script's own optimizer does the same with sparse gradients, and why there can be none."""
    kind = type(optimizer)
    if kind in (torch.optim.Adam, torch.optim.AdamW):
        return False, "amsgrad has no counterpart in SparseAdam" if group.get("amsgrad") else ""
    if kind not in (torch.optim.SGD, torch.optim.Adagrad):
        return False, f"{kind.__name__} takes no sparse gradients"
    if group.get("weight_decay"):
        return False, f"weight decay in {kind.__name__} moves rows that have no gradient, too"
    if group.get("momentum"):
        return False, "momentum in SGD moves rows that have no gradient, too"
    if group.get("fused"):
        return False, f"fused {kind.__name__} takes no sparse gradients"
    return True, ""


@notes.guarded("sparse embeddings")
def _on_root_enter(torch: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if module.training:
        whole = [one for _, one in owners.tensors_in((args, kwargs)) if not one.is_floating_point()]
        _state.rows = max(_state.rows, sum(one.numel() for one in whole))


@notes.guarded("sparse embeddings")
def _look(torch: Any, optimizer: Any) -> None:
    if id(optimizer) in _state.stepped:
        return
    _state.stepped.add(id(optimizer))
    choice = choose(torch, optimizer, [model for _, model in scopes.live_roots()])
    if not choice.layers and not choice.why_not:
        return
    sizes = [(layer.weight.numel(), layer.num_embeddings, layer.weight.element_size()) for layer in choice.layers]
    notes.note(
        said.SparseEmbeddings(
            bytes=sum(numbers * size for numbers, _, size in sizes),
            touched_bytes=sum(min(_state.rows, rows) * (numbers // rows) * size for numbers, rows, size in sizes),
            layers=len(choice.layers),
            optimizer=type(optimizer).__name__,
            same=choice.same,
            why_not=choice.why_not,
        )
    )


def install(torch: Any) -> None:
    events.root_enter.listen(functools.partial(_on_root_enter, torch))
    events.step_end.listen(functools.partial(_look, torch))
