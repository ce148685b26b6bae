"""No graph for forward passes of an evaluation: what `with torch.no_grad():` around a validation loop does.

Where the script forgot eval() as well, an evaluation is known by the function's name; a backward pass on what it puts
out is refused.
"""

from __future__ import annotations

from typing import Any

from vramfit import apply
from vramfit.base import events, process
from vramfit.base.recorder import TEST, TRAIN, VALIDATE
from vramfit.contract import plans
from vramfit.observe import scopes
from vramfit.observe.phases import position

ID = "no_grad_validation"


class NoGradValidation:
    KEEPS = process.ALL  # but for what in_child() begins anew

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._module: Any = None  # id() of the root whose gradients are off
        self._last_was_ours = False

    def in_child(self) -> None:
        self._module = None

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        root = scopes.root_of(module)
        if root is None or not root.parameters:
            return
        self._last_was_ours = False
        evaluates = position.phase in (VALIDATE, TEST) if module.training else position.phase != TRAIN
        if evaluates and self._torch.is_grad_enabled():
            self._torch.set_grad_enabled(False)
            self._module = id(module)
            self._last_was_ours = True
            apply.applied(ID, "gradients are off in evaluation")

    def leave(self, module: Any, result: Any) -> None:
        if self._module == id(module):
            self._module = None
            self._torch.set_grad_enabled(True)

    def before_backward(self, tensors: Any) -> None:
        if self._last_was_ours:
            apply.refused(ID, "the script calls backward() on what a model puts out in an evaluation")


def install(torch: Any, options: plans.NoGradValidation) -> None:
    technique = process.own(NoGradValidation, torch)
    events.root_enter.listen(technique.enter)
    events.root_exit.listen(technique.leave)
    events.backward_begin.listen(technique.before_backward)
