"""Attempts of scripts to save memory on a card that save none: masks of pruning, quantize_dynamic."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from vramfit.base import events, frames, importing, notes, process
from vramfit.base.around import around
from vramfit.contract import notes as said
from vramfit.observe import scopes

_ORIGINAL, _MASK = "orig", "mask"  # behind an underscore, what torch.nn.utils.prune calls a weight and its mask


class _State:
    def __init__(self) -> None:
        self.looked: set[int] = set()  # ids of roots
        self.noted: set[str] = set()


_state = process.own(_State)


def _tell(kind: str, text: str) -> None:
    if kind not in _state.noted:
        _state.noted.add(kind)
        notes.note(said.Advice(text=text))


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB" if size < 10 << 20 else f"{size / (1 << 20):.0f} MiB"


@notes.guarded("ineffective_savings")
def _enter(module: Any, args: Any, kwargs: Any) -> None:
    if id(module) in _state.looked or scopes.root_of(module) is None:
        return
    _state.looked.add(id(module))
    masks = weights = layers = 0
    for layer in module.modules():
        buffers = dict(layer.named_buffers(recurse=False))
        for name, original in layer.named_parameters(recurse=False):
            weight, _, end = name.rpartition("_")
            mask = buffers.get(f"{weight}_{_MASK}") if end == _ORIGINAL else None
            if mask is None or not mask.is_cuda:
                continue
            layers += 1
            masks += mask.numel() * mask.element_size()
            weights += original.numel() * original.element_size()
    if layers:
        _tell(
            "masks",
            f"torch.nn.utils.prune makes nothing smaller: {layers} weights of {type(module).__name__} have masks of "
            f"{_mib(masks)} beside them, and each forward makes the masked weights anew, {_mib(weights)} more. "
            "prune.remove() frees the masks and leaves zeros of full size; only channels that are taken out "
            "(structured pruning, as Torch-Pruning does it) free memory, by about their share of weights and "
            "activations",
        )


def _watch_dynamic(module: ModuleType) -> None:
    original = module.quantize_dynamic

    def look(*_: Any, **__: Any) -> Iterator[Any]:
        network = yield
        _look_at_dynamic(network, frames.script_line(sys._getframe(1)))

    quantize_dynamic = around("ineffective_savings.dynamic", original, look)
    for name, place in list(sys.modules.items()):
        if name.startswith("torch.") and getattr(place, "quantize_dynamic", None) is original:
            vars(place)["quantize_dynamic"] = quantize_dynamic


def _look_at_dynamic(network: Any, where: str) -> None:
    layers = [one for one in network.modules() if ".quantized.dynamic" in type(one).__module__]
    numbers = sum(int(one.weight().numel()) for one in layers if callable(getattr(one, "weight", None)))
    at = f" ({where})" if where else ""
    _tell(
        "dynamic",
        f"quantize_dynamic{at} saves nothing on a card: the kernels of its {len(layers)} layers "
        f"({_mib(4 * numbers)} in float32) exist for the CPU only, so its network can't run on one. On a card: weights "
        f"in 8 bits (int8_weights of a plan, {_mib(numbers)}), or torchao's Int8DynamicActivationInt8WeightConfig, "
        "which computes in 8 bits too",
    )


def install() -> None:
    events.root_enter.listen(_enter)
    for name in ("torch.ao.quantization", "torch.quantization"):
        importing.after_import(name, _watch_dynamic)
