"""Gradients of embeddings that hold the rows alone that a step used.

Where the script's optimizer takes them, all that changes is `sparse` of the layers. In the place of Adam and AdamW,
torch.optim.SparseAdam updates these weights behind each of the optimizer's steps, which does not see their gradients
meanwhile: with the rates, betas and eps that their groups have then, which schedules go on changing. Its moments are
in the script's optimizer, as Adam's are, so checkpoints hold them.
"""

from __future__ import annotations

import inspect
from typing import Any

from vramfit import apply
from vramfit.apply import optimizer_making as making
from vramfit.base import events, notes, process
from vramfit.contract import notes as said
from vramfit.contract import plans
from vramfit.observe import sparse_embeddings

ID = "sparse_embeddings"
_CARRIED = ("lr", "betas", "eps", "maximize")


class SparseEmbeddings:
    KEEPS = process.ALL

    def __init__(self, torch: Any, options: plans.SparseEmbeddings) -> None:
        self._torch = torch
        self._name = options.optimizer
        self._beside: dict[int, Any] = {}  # a SparseAdam by id of the script's own optimizer
        self._held: list[tuple[Any, Any]] = []  # weights of embeddings and their gradients, while a step is taken
        self._layers: list[Any] = []
        self._seen = False  # what their first gradients are

    def after_optimizer(self, optimizer: Any) -> None:
        if not isinstance(optimizer, self._torch.optim.Optimizer) or id(optimizer) in self._beside:
            return
        wanted = {id(one) for group in optimizer.param_groups for one in group["params"]}
        models, _ = making.models_of(self._torch, wanted)
        choice = sparse_embeddings.choose(self._torch, optimizer, models)
        if not choice.layers:
            if choice.why_not:
                apply.refused(ID, choice.why_not)
            return
        if sharing := making.sharing_in(models):
            apply.refused(ID, f"the model is within a {sharing}, which exchanges gradients of all rows")
        if choice.same == (self._name is not None):
            own = type(optimizer).__name__
            apply.refused(ID, f"the plan is for {'Adam' if choice.same else 'SGD or Adagrad'}, the script has {own}")
        for layer in choice.layers:
            layer.sparse = True
        self._layers.extend(choice.layers)
        if self._name is not None:
            self._beside[id(optimizer)] = self._make(optimizer, {id(layer.weight) for layer in choice.layers})
        self._tell(optimizer, choice.layers)

    def _make(self, optimizer: Any, chosen: set[int]) -> Any:
        """One group for each of the script's, so that they go together."""
        groups = [[one for one in group["params"] if id(one) in chosen] for group in optimizer.param_groups]
        kind = self._torch.optim.SparseAdam
        made = kind([{"params": group or [self._torch.nn.Parameter(self._torch.zeros(0))]} for group in groups])
        return made

    def _tell(self, optimizer: Any, layers: list[Any]) -> None:
        text = f"{len(layers)} embeddings of {sum(layer.weight.numel() for layer in layers)} numbers have gradients of"
        text += " the rows that a step uses"
        if self._name is not None:
            text += f": SparseAdam trains them instead of {type(optimizer).__name__}, and moves no other rows"
            notes.note(said.PlanEffect(id=ID, text=text))
        apply.applied(ID, text)

    # -- a step

    def begin(self, optimizer: Any) -> None:
        self._look()
        beside = self._beside.get(id(optimizer))
        if beside is not None:
            weights = [one for group in beside.param_groups for one in group["params"] if one.grad is not None]
            self._held = [(one, one.grad) for one in weights]
            for one in weights:
                one.grad = None

    def end(self, optimizer: Any) -> None:
        beside = self._beside.get(id(optimizer))
        if beside is None:
            return
        for weight, gradient in self._held:
            weight.grad = gradient
            if state := optimizer.state.get(weight):  # which the script may have loaded
                beside.state[weight] = state
        self._held = []
        for own, group in zip(optimizer.param_groups, beside.param_groups):
            group.update({name: own[name] for name in _CARRIED if name in own})
        # The function itself: hooks would take it for an optimizer of the script's.
        with self._torch.no_grad():
            inspect.unwrap(type(beside).step)(beside)
        for weight in beside.state:
            optimizer.state[weight] = beside.state[weight]

    def _look(self) -> None:
        gradients = [layer.weight.grad for layer in self._layers if layer.weight.grad is not None]
        if self._seen or not gradients:
            return
        self._seen = True
        if not all(gradient.is_sparse for gradient in gradients):
            apply.ended(ID, "the weights of embeddings are used otherwise too: their gradients are of all rows")


def install(torch: Any, options: plans.SparseEmbeddings) -> None:
    technique = process.own(SparseEmbeddings, torch, options)
    making.before_made(torch, lambda _: None, technique.after_optimizer)
    events.step_begin.listen(technique.begin)
    events.step_end.listen(technique.end)
