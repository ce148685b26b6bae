"""Transforms of batches that the script calls with tensors of the card work in host memory, and their result goes back.

What torchvision draws for them comes from the host's generator in either place; what a transform draws on the card
itself (GaussianNoise) is drawn by the host's generator then, which gives other numbers.
"""

from __future__ import annotations

import threading
from typing import Any

from vramfit import apply
from vramfit.base import process
from vramfit.contract import plans
from vramfit.observe import card_transforms
from vramfit.private import torch as of_torch

ID = "host_transforms"


class _Running(threading.local):
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.module: Any = None  # the outermost transform that runs in this thread
        self.device: Any = None


class HostTransforms:
    KEEPS = process.ALL

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._running = _Running()

    def before(self, module: Any, args: Any) -> Any:
        if self._running.module is not None or self._torch.compiler.is_compiling():
            return None
        if not card_transforms.is_transform(self._torch, module) or not card_transforms.is_on_card(args):
            return None
        devices = {leaf.device for leaf in of_torch.flatten_tree(args)[0] if _is_on_card(self._torch, leaf)}
        if len(devices) != 1:
            return None
        self._running.module, (self._running.device,) = module, devices
        apply.applied(ID, f"{type(module).__name__} works on the host, and its result goes to the card")
        return self._moved(args, "cpu")

    def after(self, module: Any, _args: Any, result: Any) -> Any:
        if self._running.module is not module:
            return None
        device, self._running.module = self._running.device, None
        return None if result is None else self._moved(result, device)

    def _moved(self, values: Any, device: Any) -> Any:
        """`to` keeps torchvision's own classes of tensors."""
        tensor = self._torch.Tensor
        return of_torch.map_tree(lambda leaf: leaf.to(device) if isinstance(leaf, tensor) else leaf, values)


def _is_on_card(torch: Any, leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.is_cuda


def install(torch: Any, options: plans.HostTransforms) -> None:
    technique = process.own(HostTransforms, torch)
    hooks = torch.nn.modules.module
    hooks.register_module_forward_pre_hook(technique.before)
    hooks.register_module_forward_hook(technique.after, always_call=True)
