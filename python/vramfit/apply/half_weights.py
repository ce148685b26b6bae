"""Networks in bfloat16 from the moment at which an optimizer is made for them: weights, gradients, state, activations.

What the script gives such a network in float32 is cast, and what the network returns is float32 again, as the script's
losses and metrics expect it. What a network makes itself in float32 and multiplies with its weights ends the job: there
is no autocast that would cast it.
"""

from __future__ import annotations

from typing import Any

from vramfit import apply
from vramfit.apply import forwards
from vramfit.apply import optimizer_making as making
from vramfit.apply.loss_region import to_float
from vramfit.base import notes, process
from vramfit.contract import notes as said
from vramfit.contract import plans
from vramfit.observe import job, scopes

ID = "half_weights"


class HalfWeights:
    KEEPS = process.ALL

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._dtype = torch.bfloat16
        self._done: set[int] = set()  # ids of parameters

    def before_optimizer(self, parameters: list[Any]) -> None:
        new = {id(p) for p in parameters if p.requires_grad and id(p) not in self._done}
        if not new:
            return
        self._done.update(new)
        models, _ = making.models_of(self._torch, new)
        if sharing := making.sharing_in(models):
            apply.refused(
                ID, f"the model is within a {sharing} before its optimizer is made: it has buffers of its own"
            )
        if not models:
            apply.refused(ID, "what the optimizer trains belongs to no module")
        for model in models:
            self._keep(model)
        halved = sum(p.numel() for p in parameters if p.dtype == self._dtype)
        if not halved:
            apply.refused(ID, "none of the weights that the script trains are in float32")
        text = f"{halved} weights are trained in bfloat16: updates that are small beside them are lost"
        apply.applied(ID, text)
        notes.note(said.PlanEffect(id=ID, text=text))

    def _keep(self, model: Any) -> None:
        for tensor in [*model.parameters(), *model.buffers()]:
            if scopes.is_there(tensor) and tensor.dtype == self._torch.float32:
                tensor.data = tensor.data.to(self._dtype)
        forwards.replace(model, self._in_half, self._is_in_half)

    def _is_in_half(self, model: Any) -> bool:
        """A copy, as averages of weights are, has weights in half too."""
        floats = [p.dtype for p in model.parameters() if p.is_floating_point()]
        return bool(floats) and all(dtype == self._dtype for dtype in floats)

    def _in_half(self, _module: Any, forward: Any, *args: Any, **kwargs: Any) -> Any:
        if job.autocast_dtype() is not None:
            apply.refused(ID, f"the script uses autocast with {job.autocast_dtype()} already")
        given = _cast((args, kwargs), self._torch, self._dtype)
        return to_float(self._torch, forward(*given[0], **given[1]), self._dtype)


def _cast(value: Any, torch: Any, dtype: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.dtype == torch.float32 else value
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return type(value)(_cast(one, torch, dtype) for one in value)
    if type(value) is dict:
        return {key: _cast(one, torch, dtype) for key, one in value.items()}
    return value


def install(torch: Any, options: plans.HalfWeights) -> None:
    making.before_made(torch, process.own(HalfWeights, torch).before_optimizer)
