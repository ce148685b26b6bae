"""Large random fills on the host are put off until somebody looks at them (virtual_gpu/host/late_fill.h).

On a virtual card weights are drawn on the host, copied to the card and never read: the copy moves nothing, and the
drawing is most of a run. Here PyTorch's own calls are kept as a program, with the generator's state of that moment, and
the generator moves on as if it had drawn. What is looked at after all gets the very values: PyTorch's own function
writes them then. Each kind of fill is compared with a real one before it is first put off.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from vramfit.base import events
from vramfit.contract import asked
from vramfit.private import torch as of_torch
from vramfit.private.names import need
from vramfit.values import standing_in
from vramfit.values.host_fills.calls import KINDS, LARGE, find_functions, load_library
from vramfit.values.host_fills.following import unwatch, watch
from vramfit.values.host_fills.generator import rule_of, skipped
from vramfit.values.host_fills.programs import Step, defer, fills, guarded, is_plain, whole_address


def _put_off(tensor: Any, name: str, first: float, second: float, generator: Any) -> bool:
    """Puts a fill off and moves the generator on; False: it is to be made now."""
    torch = sys.modules["torch"]
    if not is_plain(tensor) or not tensor.dtype.is_floating_point or tensor.dtype.itemsize not in (2, 4, 8):
        return False
    address = whole_address(tensor)
    rule = rule_of(name, tensor.dtype) if address else None
    if rule is None:
        return False
    generator = torch.default_generator if generator is None else generator
    if generator.device.type != "cpu":
        return False
    state = generator.get_state()
    if not defer(tensor, address, [Step(name, float(first), float(second), state)]):
        return False
    watch()
    generator.set_state(skipped(state, tensor.dtype, rule(tensor.numel())))
    torch.autograd.graph.increment_version(tensor)
    return True


def _random_method(torch: Any, name: str, names: tuple[str, str], defaults: tuple[float, float]) -> Callable[..., Any]:
    original = fills.originals[name]
    is_compiling = torch.compiler.is_compiling

    @functools.wraps(original)
    def fill(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not fills.on or is_compiling() or len(args) > 2 or kwargs.keys() - {*names, "generator"}:
            return original(self, *args, **kwargs)
        values = dict(zip(names, args), **{key: kwargs[key] for key in names if key in kwargs})
        first, second = (values.get(key, default) for key, default in zip(names, defaults))
        is_right = second >= 0 if name == "normal_" else first <= second
        if is_right and guarded(_put_off, self, name, first, second, kwargs.get("generator")):
            return self
        return original(self, *args, **kwargs)

    return fill


def _factory(torch: Any, name: str, method: str, second: float) -> Callable[..., Any]:
    """torch.randn and torch.rand: torch.empty and a fill."""
    original = getattr(torch, name)
    is_compiling = torch.compiler.is_compiling
    plain = {"dtype", "device", "requires_grad", "generator"}

    @functools.wraps(original)
    def make(*size: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return original(*size, **kwargs)
        if standing_in.has_overrides(torch, size):
            # PyTorch's own Python functions do the same: an override of torch.randn is given what torch.randn is now.
            return torch.overrides.handle_torch_function(make, size, *size, **kwargs)
        if not fills.on or kwargs.keys() - plain or not _is_large(size, kwargs.get("dtype")):
            return original(*size, **kwargs)
        made = _made_late(torch, method, second, size, kwargs) if _is_on_host(torch, kwargs.get("device")) else None
        return original(*size, **kwargs) if made is None else made

    standing_in.keep_scriptable(original, make)
    standing_in.keep_device(torch, original, make)
    return make


def _made_late(torch: Any, method: str, second: float, size: Any, kwargs: dict[str, Any]) -> Any:
    made = torch.empty(*size, dtype=kwargs.get("dtype"), device=kwargs.get("device"))
    if not guarded(_put_off, made, method, 0.0, second, kwargs.get("generator")):
        return None
    return made.requires_grad_(bool(kwargs.get("requires_grad")))


def _is_on_host(torch: Any, device: Any) -> bool:
    """Whether it is on the host, asked before anything is made: a tensor of a card would take its memory twice."""
    return (of_torch.default_device() if device is None else torch.device(device).type) == "cpu"


def _is_large(size: tuple[Any, ...], dtype: Any) -> bool:
    numbers = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    elements = 1
    for number in numbers:
        if type(number) is not int:
            return False
        elements *= number
    return elements * (dtype or sys.modules["torch"].get_default_dtype()).itemsize >= LARGE


def begin() -> None:
    """Begins as the environment of this job says."""
    from vramfit import values

    virtual = os.environ.get("VRAMFIT_LEDGER") and os.environ.get("VRAMFIT_REAL") != "1"
    fills.on = bool(virtual and values.policy() != asked.VALUES_CPU and fills.functions and fills.library is not None)
    if fills.library is not None:
        fills.library.vramfit_host_enable(int(fills.on))


def install(torch: Any) -> None:
    fills.library = load_library()
    if fills.library is None:
        return
    need(of_torch.default_device, of_torch.parse_to, of_torch.tensor_object, of_torch.generator_object)
    fills.functions = find_functions()
    for name in KINDS:
        fills.originals[name] = getattr(torch.Tensor, name)
    if not {"normal_", "uniform_"} <= fills.functions.keys():
        return
    torch.Tensor.normal_ = _random_method(torch, "normal_", ("mean", "std"), (0.0, 1.0))
    torch.Tensor.uniform_ = _random_method(torch, "uniform_", ("from", "to"), (0.0, 1.0))
    torch.randn = _factory(torch, "randn", "normal_", 1.0)
    torch.rand = _factory(torch, "rand", "uniform_", 1.0)
    events.root_enter.listen(unwatch)
    begin()
