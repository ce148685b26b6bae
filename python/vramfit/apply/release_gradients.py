"""Each parameter is updated as soon as its gradient is there, and the gradient freed: never are all of them alive.

    script:          zero_grad   forward   backward .................. step        zero_grad
    of a parameter:  zeroed                gradient, update, freed     (nothing)   zeroed

The updates are the optimizer's own, over one parameter at a time, with the options it has then. They are what step()
would have done as long as nobody looks at the gradients or at the weights between the two, and one backward pass makes
one step: docs/decisions/0018-gradients-released-in-backward.md. Whatever breaks that ends the job before the next one.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from vramfit import apply
from vramfit.apply import offload_optimizer, one_by_one
from vramfit.base import events, frames, process
from vramfit.base.recorder import BACKWARD, OPTIMIZER
from vramfit.contract import plans
from vramfit.observe.phases import position
from vramfit.private import torch as of_torch

ID = "release_gradients"
# Who may look at a gradient that was released: these find none, and do nothing then.
_MAY_LOOK = (
    *("torch.optim.", "bitsandbytes.optim.", "torch.nn.modules.", "torch.nn.parameter", "vramfit."),
    of_torch.tensor_module.name,
)


class _Owner:
    """An optimizer whose parameters are released."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = weakref.ref(optimizer)
        self.used: list[dict[str, Any]] | None = None  # options of its groups, of this backward pass's updates


class ReleaseGradients:
    KEEPS = process.ALL  # but for what in_child() begins anew

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.in_child()

    def in_child(self) -> None:
        self._lock = threading.Lock()  # a backward pass has a thread for each card
        self._owners: dict[int, tuple[weakref.ref[Any], _Owner]] = {}  # by id() of a parameter
        # Parameters that were updated while their optimizer has not stepped: by id(), with their counts of writes.
        self._released: dict[int, int] = {}
        self._stepped: set[int] = set()  # it has: the script's gradient would be there until it is zeroed
        self._pending = ""  # what a hook found; told once the backward pass is over
        self.is_scaled = False  # by a GradScaler of the script's

    # -- optimizers

    def learn(self, optimizer: Any) -> None:
        reason = one_by_one.why_not(optimizer)
        if reason and not one_by_one.is_in_eight_bits(optimizer):
            self.refuse(reason)
            return
        owner = _Owner(optimizer)
        for parameter in one_by_one.parameters_of(optimizer):
            self._adopt(parameter, owner)
        self._hook_step(optimizer)

    def _hook_step(self, optimizer: Any) -> None:
        optimizer.register_step_pre_hook(self.before_step)

    def learn_group(self, optimizer: Any) -> None:
        """A group was added after the optimizer was made."""
        known = [self._owner_of(parameter) for parameter in one_by_one.parameters_of(optimizer)]
        owner = next((one for one in known if one is not None), None)
        for parameter, has in zip(one_by_one.parameters_of(optimizer), known):
            if has is None and owner is not None:
                self._adopt(parameter, owner)

    def _adopt(self, parameter: Any, owner: _Owner) -> None:
        other = self._owner_of(parameter)
        if other is not None and other.optimizer() is not None:
            self.refuse("two optimizers share a parameter: the first step would take the second one's gradient")
            return
        if not isinstance(parameter, self._torch.nn.Parameter) or not parameter.is_leaf:
            self.refuse("the optimizer has tensors that are no parameters: reads of their gradients are not seen")
            return
        if other is None and parameter.requires_grad:  # one that is not trained yet is left to the script's step
            self._hook_gradient(parameter)
        self._owners[id(parameter)] = (weakref.ref(parameter), owner)

    def _hook_gradient(self, parameter: Any) -> None:
        parameter.register_post_accumulate_grad_hook(self.release)

    def _owner_of(self, parameter: Any) -> _Owner | None:
        known = self._owners.get(id(parameter))
        return known[1] if known is not None and known[0]() is parameter else None

    # -- a backward pass

    def before_backward(self, tensors: Any) -> None:
        if self._released:
            self.stop("there is a second backward pass before the step")
        ranks = self._torch.distributed
        if ranks.is_available() and ranks.is_initialized() and ranks.get_world_size() > 1:
            self.stop("ranks exchange gradients before the step")

    def release(self, parameter: Any) -> None:
        """A hook of the parameter: its gradient of this backward pass is complete."""
        owner = self._owner_of(parameter)
        if owner is None or self._pending:
            return
        self._pending = self._find_obstacle(parameter, owner)
        if self._pending:
            return
        with self._lock:
            position.set_stage(OPTIMIZER)
            self._update(parameter, owner)
            position.set_stage(BACKWARD)
        parameter.grad = None
        self._released[id(parameter)] = of_torch.writes.of(parameter, 0)
        apply.applied(ID, "each parameter is updated in the backward pass, and its gradient freed")

    def _find_obstacle(self, parameter: Any, owner: _Owner) -> str:
        if owner.optimizer() is None:
            return "an optimizer is gone whose parameters are still trained"
        if reason := one_by_one.why_not_by_place(owner.optimizer()):
            return reason
        if id(parameter) in self._released:
            return "a parameter gets its gradient in parts (reentrant checkpointing)"
        if id(parameter) in self._stepped:
            return "gradients are not zeroed between two backward passes: they would add up"
        if parameter.grad.requires_grad:
            return "gradients are differentiated again (create_graph)"
        if self.is_scaled:
            return "a GradScaler scales the gradients, and may leave a step out"
        if parameter.is_cuda and self._torch.cuda.is_current_stream_capturing():
            return "the script captures a CUDA graph"
        return ""

    def _update(self, parameter: Any, owner: _Owner) -> None:
        optimizer = owner.optimizer()
        groups = optimizer.param_groups
        group = next(group for group in groups if any(each is parameter for each in group["params"]))
        if owner.used is None:
            owner.used = _options_of(groups)
        optimizer.param_groups = [{**group, "params": [parameter]}]
        try:
            with self._torch.no_grad():
                offload_optimizer.innermost_step(type(optimizer))(optimizer)  # no hooks: one backward pass is one step
        finally:
            optimizer.param_groups = groups

    def after_backward(self) -> None:
        if self._pending:
            self.stop(self._pending)

    # -- what lies between it and the next one

    def before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """The step itself finds no gradient, and does nothing."""
        if any(given is not None and given is not optimizer for given in (*args, *kwargs.values())):
            self.stop("the optimizer's step() is given a closure, which trains within it")
        own = {
            id(parameter) for parameter in one_by_one.parameters_of(optimizer) if self._owner_of(parameter) is not None
        }
        if (self._stepped & own) - self._released.keys():
            self.stop("an optimizer steps again with gradients of an earlier backward pass")
        for owner in {self._owners[each][1] for each in own}:
            used, owner.used = owner.used, None
            if used is not None and used != _options_of(optimizer.param_groups):
                self.stop("the learning rate, or another option, changes between the backward pass and the step")
        for parameter in one_by_one.parameters_of(optimizer):
            writes = self._released.pop(id(parameter), None)
            if writes is not None:
                self._stepped.add(id(parameter))
                if writes != of_torch.writes.of(parameter, 0):
                    self.stop("weights are changed between the backward pass and the step")

    def on_root(self, module: Any, args: Any, kwargs: Any) -> None:
        if self._released and any(id(parameter) in self._released for parameter in module.parameters()):
            self.stop("the model is called between the backward pass and the step, where it has new weights already")

    def zeroed(self, zeroing: Any, to_none: bool) -> None:
        """An optimizer or a module zeroed its gradients."""
        own = {
            id(parameter) for parameter in one_by_one.parameters_of(zeroing) if self._owner_of(parameter) is not None
        }
        if own & self._released.keys():
            self.stop("gradients are zeroed between the backward pass and the step, which is left out then")
        if own and not to_none:
            self.stop("zero_grad(set_to_none=False) lets the optimizer step with zeros where no gradient came")
        self._stepped -= own

    def looked_at(self, parameter: Any, caller: Any) -> None:
        if id(parameter) not in self._released and id(parameter) not in self._stepped:
            return
        if self._owner_of(parameter) is None or _may_look(caller):
            return
        where = frames.script_line(caller)
        place = f" ({where})" if where else ""
        self.stop(f"gradients are looked at after the backward pass: clipped, logged or changed{place}")

    def replaced(self, parameter: Any, value: Any, caller: Any) -> None:
        if value is None and id(parameter) not in self._released:
            self._stepped.discard(id(parameter))
        else:
            self.looked_at(parameter, caller)

    def bypassed(self, parameter: Any, caller: Any) -> None:
        if id(parameter) in self._released and not _may_look(caller) and self._owner_of(parameter) is not None:
            self.stop("weights are reached through .data between the backward pass and the step")

    # What is no word of a plan's own end is said by whoever only watches (obstacles.py).

    def refuse(self, text: str) -> None:
        apply.refused(ID, text)

    def stop(self, text: str) -> None:
        apply.ended(ID, text)


def _may_look(caller: Any) -> bool:
    return str(caller.f_globals.get("__name__", "")).startswith(_MAY_LOOK)


def _options_of(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tensors as numbers: two of them can't be asked whether they are equal."""
    return [
        {name: float(value) if hasattr(value, "dim") else value for name, value in group.items() if name != "params"}
        for group in groups
    ]


def watch_gradients(torch: Any, technique: ReleaseGradients) -> Callable[[], None]:
    """Python's way to a parameter's gradient. PyTorch's own, in C++, is the backward pass alone. What it returns ends
    that."""
    names = ("grad", of_torch.base_gradient.name)
    for name in names:
        original = getattr(torch.Tensor, name)

        def get(self: Any, original: Any = original) -> Any:
            technique.looked_at(self, sys._getframe(1))
            return original.__get__(self)

        def put(self: Any, value: Any, original: Any = original) -> None:
            technique.replaced(self, value, sys._getframe(1))
            original.__set__(self, value)

        def remove(self: Any, original: Any = original) -> None:
            technique.replaced(self, None, sys._getframe(1))
            original.__set__(self, None)

        setattr(torch.nn.Parameter, name, property(get, put, remove))

    def give_back() -> None:
        for name in names:
            if name in vars(torch.nn.Parameter):
                delattr(torch.nn.Parameter, name)

    return give_back


def _watch_data(torch: Any, technique: ReleaseGradients) -> None:
    """`.data`, whose writes PyTorch does not count."""
    original = torch.Tensor.data

    def get(self: Any) -> Any:
        technique.bypassed(self, sys._getframe(1))
        return original.__get__(self)

    def put(self: Any, value: Any) -> None:
        technique.bypassed(self, sys._getframe(1))
        original.__set__(self, value)

    torch.nn.Parameter.data = property(get, put)


def watch_others(torch: Any, technique: ReleaseGradients) -> None:
    """Hooks of the script's that wait for gradients as ours do, groups that come later, and scalers."""
    register = torch.Tensor.register_post_accumulate_grad_hook
    add_group, scale = torch.optim.Optimizer.add_param_group, torch.amp.GradScaler.scale

    @functools.wraps(register)
    def register_hook(self: Any, hook: Any) -> Any:
        if getattr(hook, "__self__", None) is not technique:
            technique.stop("the script has hooks of its own on gradients (it may step in backward already)")
        return register(self, hook)

    @functools.wraps(add_group)
    def add_param_group(self: Any, group: Any) -> Any:
        result = add_group(self, group)
        technique.learn_group(self)
        return result

    @functools.wraps(scale)
    def scaled(self: Any, outputs: Any) -> Any:
        technique.is_scaled = technique.is_scaled or self.is_enabled()
        return scale(self, outputs)

    torch.Tensor.register_post_accumulate_grad_hook = register_hook
    torch.optim.Optimizer.add_param_group, torch.amp.GradScaler.scale = add_param_group, scaled


def _find_rival() -> str:
    """Another technique of the plan that needs all gradients at once."""
    for options in apply.planned():
        if isinstance(options, plans.MicroBatch) and options.accumulate > 1:
            return "micro_batch adds up gradients of several backward passes"
        if isinstance(options, plans.Autocast) and options.is_scaled():
            return "a scaled loss may leave a step out when all of its gradients are known"
    return ""


def install(torch: Any, options: plans.ReleaseGradients) -> None:
    if rival := _find_rival():
        apply.refused(ID, rival)
        return
    technique = process.own(ReleaseGradients, torch)
    watch_gradients(torch, technique)
    _watch_data(torch, technique)
    watch_others(torch, technique)
    events.gradients_zeroed.listen(technique.zeroed)
    events.optimizer_made.listen(technique.learn)
    events.backward_begin.listen(technique.before_backward)
    events.backward_end.listen(technique.after_backward)
    events.root_enter.listen(technique.on_root)
