"""What is done to a tensor whose fill was put off, before anybody looks: put off too, as long as models are made."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

from vramfit.base import notes
from vramfit.private import torch as of_torch
from vramfit.values.host_fills.programs import Step, call_of, defer, fills, guarded, is_plain, whole_address


def _follow(name: str, original: Any) -> Callable[..., Any]:
    keys = {"clamp_": ("min", "max"), "erfinv_": (), "zero_": ()}.get(name, ("value" if name == "fill_" else "other",))

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if fills.by_address and len(args) + len(kwargs) == len(keys) and not kwargs.keys() - set(keys):
            values = [*args, *(kwargs[key] for key in keys[len(args) :] if key in kwargs)]
            if len(values) == len(keys) and guarded(_append, self, name, values):
                return self
        return original(self, *args, **kwargs)

    return method


def _append(tensor: Any, name: str, values: list[Any]) -> bool:
    if name not in fills.functions or not all(type(value) in (int, float) for value in values):
        return False
    if not is_plain(tensor):
        return False
    address = tensor.untyped_storage().data_ptr()
    program = fills.by_address.get(address)
    if program is None or program.dtype != tensor.dtype:
        return False
    numbers = [float(value) for value in values] + [0.0, 0.0]
    region = (tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
    step = Step(name, numbers[0], numbers[1], None, region)
    call = call_of(step, program.alias, program.alive)
    if not fills.library.vramfit_host_append(address, ctypes.byref(call)):
        return False
    program.steps = [*program.steps, step] if program.steps else []
    sys.modules["torch"].autograd.graph.increment_version(tensor)
    return True


def _cast(tensor: Any, device: Any, dtype: Any, non_blocking: bool) -> Any:
    """The tensor in another type, put off like its source; None: it is to be made now."""
    torch = sys.modules["torch"]
    if not is_plain(tensor) or dtype is None or dtype == tensor.dtype or not dtype.is_floating_point:
        return None
    program = fills.by_address.get(whole_address(tensor))
    if program is None or not program.steps or program.dtype != tensor.dtype or program.shape != tensor.shape:
        return None
    if "copy_" not in fills.functions or (device is not None and device.type not in ("cpu", "cuda")):
        return None
    made = torch.empty(tensor.shape, dtype=dtype, device="cpu")
    address = whole_address(made)
    if not address or not defer(made, address, program.steps, cast_from=tensor.dtype):
        return None
    return made if device is None or device.type == "cpu" else made.to(device, non_blocking=non_blocking)


def _casting(fixed: Any, original: Any) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = None
        if fills.by_address:
            try:
                made = _cast_call(self, fixed, args, kwargs)
            except Exception as error:
                notes.hook_failed("host_fills.cast", error)
        return original(self, *args, **kwargs) if made is None else made

    return method


def _cast_call(tensor: Any, fixed: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    if fixed is not None:
        return None if args or kwargs else _cast(tensor, None, fixed, False)
    torch = sys.modules["torch"]
    if args and isinstance(args[0], torch.Tensor) or {"other", "memory_format", "copy"} & kwargs.keys():
        return None
    if len(args) > 3:  # the fourth is `copy`, which _parse_to refuses
        return None
    device, dtype, non_blocking, _ = of_torch.parse_to(*args, **kwargs)
    return _cast(tensor, device, dtype, non_blocking)


def watch() -> None:
    if fills.watched:
        return
    tensor = sys.modules["torch"].Tensor
    for name in ("zero_", "erfinv_", "fill_", "mul_", "add_", "clamp_"):
        _replace(tensor, name, _follow(name, getattr(tensor, name)))
    for name, dtype in _casts(sys.modules["torch"]).items():
        _replace(tensor, name, _casting(dtype, getattr(tensor, name)))


def _replace(owner: Any, name: str, method: Callable[..., Any]) -> None:
    fills.watched[name] = (owner.__dict__.get(name), method)
    setattr(owner, name, method)


def _casts(torch: Any) -> dict[str, Any]:
    return {
        "to": None,
        "half": torch.float16,
        "bfloat16": torch.bfloat16,
        "float": torch.float32,
        "double": torch.float64,
    }


def unwatch(*_: Any) -> None:
    """A model runs: what is done to tensors from here on is training, which should cost nothing more."""
    tensor = sys.modules["torch"].Tensor
    for name, (before, method) in list(fills.watched.items()):
        if tensor.__dict__.get(name) is not method:
            continue  # somebody else stands before it now
        if before is None:
            delattr(tensor, name)  # the base class has the original
        else:
            setattr(tensor, name, before)
        del fills.watched[name]
