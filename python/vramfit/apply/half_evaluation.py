"""Evaluation in half precision: autocast around each forward of a root in eval mode; training stays as it is.

Autocast's cache of half weights is off: it would keep a copy of every weight until the forward is over, and within one
forward hardly any weight is cast twice. What the forward returns is float32 again, as the script expects it.

`weights`, for jobs that only evaluate: the weights of layers that autocast casts are kept in that type, from the moment
at which the network goes to the card. Autocast rounds them alike in each forward, so outputs are the same.
"""

from __future__ import annotations

import functools
from typing import Any

from vramfit import apply
from vramfit.apply import foreign_forwards, torch_script, waiting
from vramfit.apply.loss_region import to_float
from vramfit.base import events, process
from vramfit.base.recorder import TRAIN
from vramfit.contract import plans
from vramfit.observe import job, phases, scopes
from vramfit.private import torch as of_torch

ID = "half_evaluation"
_CAST = ("weight", "bias", "in_proj_weight", "in_proj_bias")  # parameters of the layers that autocast casts


class HalfEvaluation:
    KEEPS = process.ALL  # but for what in_child() begins anew

    def __init__(self, torch: Any, options: plans.HalfEvaluation) -> None:
        self._torch = torch
        self._dtype = getattr(torch, options.dtype)
        self._weights = WeightsInHalf(torch, self._dtype) if options.weights else None
        self.in_child()

    def in_child(self) -> None:
        self._module: Any = None  # the root whose forward runs
        self._region: Any = None  # its autocast
        self._kept_graph = False  # the last evaluation ran with gradients on

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        root = scopes.root_of(module)
        if root is None or not root.parameters or self._region is not None or torch_script.is_being_made():
            return
        self._kept_graph = False
        if module.training or phases.position.phase == TRAIN:
            if self._weights is not None and self._weights.has_any_of(module):
                apply.refused(ID, "the script calls its network in training mode, whose weights stay as they are")
            return
        if (own := job.autocast_dtype()) is not None:
            apply.refused(ID, f"the script uses autocast with {own} already")
            return
        if self._weights is not None:
            self._weights.keep(module)
            if foreign_forwards.kind_of(module) == "scripted" and not self._weights.has_any_of(module):
                apply.refused(ID, "the network is TorchScript, which reads its weights by itself")
                return
        self._kept_graph = self._torch.is_grad_enabled()
        self._module = module
        self._region = self._torch.autocast("cuda", dtype=self._dtype, cache_enabled=False)
        self._region.__enter__()
        kept = ", weights kept in it" if self._weights is not None else ""
        apply.applied(ID, f"evaluation under autocast to {str(self._dtype).replace('torch.', '')}{kept}")

    def leave(self, module: Any, args: Any, result: Any) -> Any:
        """A forward hook of every module: what it returns takes the place of the result."""
        if module is not self._module or phases.is_inside_module():
            return None
        region, self._region, self._module = self._region, None, None
        region.__exit__(None, None, None)
        return to_float(self._torch, result, self._dtype)

    def before_backward(self, tensors: Any) -> None:
        if self._kept_graph:
            apply.refused(ID, "the script calls backward() on the output of a model in eval mode")
        self.trains()

    def before_script(self, module: Any) -> None:
        if self._weights is not None and self._weights.has_any_of(module):
            apply.ended(ID, f"TorchScript is made of the network, whose weights are kept in {self._dtype}")

    def trains(self, *_: Any) -> None:
        if self._weights is not None:
            apply.refused(ID, "the script trains: weights in half precision are for jobs that only evaluate")

    def before_move(self, module: Any, device: Any) -> None:
        if self._weights is not None and device is not None and device.type == "cuda":
            self._weights.keep(module)


class WeightsInHalf:
    def __init__(self, torch: Any, dtype: Any) -> None:
        self._torch = torch
        self._dtype = dtype
        layers = torch.nn
        self._kinds: tuple[Any, ...] = (layers.Linear, layers.Embedding, layers.MultiheadAttention)
        for number in "123":
            self._kinds += (getattr(layers, "Conv" + number + "d"), getattr(layers, f"ConvTranspose{number}d"))

    def keep(self, model: Any) -> None:
        """Layer by layer, so that no more than one layer's weights are there twice."""
        with self._torch.inference_mode(False), self._torch.no_grad():
            for layer in model.modules():
                if isinstance(layer, self._kinds):
                    self._keep(layer)

    def has_any_of(self, model: Any) -> bool:
        return any(parameter.dtype == self._dtype for parameter in model.parameters())

    def _keep(self, layer: Any) -> None:
        cast = [p for name, p in layer.named_parameters(recurse=False) if name in _CAST and self._is_float(p)]
        for parameter in cast:
            with waiting.as_plain(parameter):  # on the host, where it waits there
                parameter.data = parameter.data.to(self._dtype)
        if cast and isinstance(layer, self._torch.nn.Embedding):
            layer.register_forward_hook(_in_float)  # autocast knows no embeddings: what follows them stays as it was

    def _is_float(self, parameter: Any) -> bool:
        return scopes.is_there(parameter) and bool(parameter.dtype == self._torch.float32)


def _in_float(layer: Any, args: Any, result: Any) -> Any:
    return result.float()


def watch_moves(torch: Any, before_move: Any) -> None:
    """Calls `before_move(module, device)` before a whole network goes to a device."""
    module_class = torch.nn.Module
    to, cuda = module_class.to, module_class.cuda

    @functools.wraps(to)
    def to_device(self: Any, *args: Any, **kwargs: Any) -> Any:
        before_move(self, _device_of(args, kwargs))
        return to(self, *args, **kwargs)

    @functools.wraps(cuda)
    def to_card(self: Any, device: Any = None) -> Any:
        before_move(self, torch.device("cuda", device) if isinstance(device, int) else torch.device(device or "cuda"))
        return cuda(self, device)

    module_class.to, module_class.cuda = to_device, to_card


def _device_of(args: Any, kwargs: Any) -> Any:
    try:
        return of_torch.parse_to(*args, **kwargs)[0]
    except (TypeError, RuntimeError):  # the call itself will say so
        return None


def install(torch: Any, options: plans.HalfEvaluation) -> None:
    from torch.nn.modules import module

    technique = process.own(HalfEvaluation, torch, options)
    events.root_enter.listen(technique.enter)
    events.backward_begin.listen(technique.before_backward)
    if options.weights:
        events.optimizer_made.listen(technique.trains)
        watch_moves(torch, technique.before_move)
        torch_script.before_made(torch, technique.before_script)
    module.register_module_forward_hook(technique.leave, always_call=True)
