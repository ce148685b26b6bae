"""Mixed precision from a root's forward to backward(), so that the loss is inside, as the PyTorch guide has it.

With float16 the loss is scaled and the step taken through a GradScaler, gradients unscaled before they are clipped.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from vramfit import apply, events, job, scopes
from vramfit.apply import training_loop

ID = "autocast"


class Autocast:
    def __init__(self, torch: Any, options: dict[str, Any]) -> None:
        self._torch = torch
        self._dtype = getattr(torch, str(options.get("dtype", "bfloat16")))
        self._wants_scaler = bool(options.get("scaler", self._dtype == torch.float16))
        self._open: Any = None
        self._scaler: Any = None
        self._stepped = False
        self._optimizers: list[Any] = []

    def restart(self) -> None:
        self._open = self._scaler = None
        self._stepped = False
        self._optimizers.clear()

    # -- the region

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        root = scopes.root_of(module)
        if root is None or not root.parameters or self._open is not None:
            return
        own = job.autocast_dtype()
        if own is not None:
            apply.refused(ID, f"the script uses autocast with {own} already")
            return
        region = self._torch.autocast("cuda", dtype=self._dtype)
        region.__enter__()
        self._open = region
        scaler = " with a GradScaler" if self._wants_scaler else ""
        apply.applied(ID, f"autocast to {str(self._dtype).replace('torch.', '')}{scaler}")

    def leave(self, *_: Any) -> None:
        if self._open is not None:
            region, self._open = self._open, None
            region.__exit__(None, None, None)

    # -- the scaler

    def scale_loss(self, loss: Any) -> Any:
        if not self._wants_scaler or not loss.is_cuda:
            return loss
        if self._scaler is None:
            self._scaler = self._torch.amp.GradScaler("cuda")
        if self._stepped:
            self._stepped = False
            self._scaler.update()
        return self._scaler.scale(loss)

    def take_step(self, optimizer: Any, take: Callable[[], Any]) -> Any:
        if self._scaler is None:
            return take()
        if optimizer not in self._optimizers:
            self._optimizers.append(optimizer)
        self._stepped = True
        return self._scaler.step(optimizer)

    def before_clipping(self, tensors: list[Any]) -> None:
        if self._scaler is None:
            return
        wanted = {id(tensor) for tensor in tensors}
        for optimizer in self._optimizers:
            if any(id(p) in wanted for group in optimizer.param_groups for p in group["params"]):
                try:
                    self._scaler.unscale_(optimizer)
                except RuntimeError:  # unscaled already since the last update
                    pass

    def learn_optimizer(self, optimizer: Any) -> None:
        if optimizer not in self._optimizers:
            self._optimizers.append(optimizer)


def install(torch: Any, options: dict[str, Any]) -> None:
    technique = Autocast(torch, options)
    os.register_at_fork(after_in_child=technique.restart)
    events.root_enter.listen(technique.enter)
    for event in (events.backward_begin, events.step_begin, events.batch):
        event.listen(technique.leave)
    events.optimizer_made.listen(technique.learn_optimizer)
    training_loop.install(torch)
    training_loop.loss_filters.append(technique.scale_loss)
    training_loop.step_takers.append(technique.take_step)
    training_loop.before_clipping.append(technique.before_clipping)
