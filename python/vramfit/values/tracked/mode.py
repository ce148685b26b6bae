"""The dispatch mode of `VRAMFIT_VALUES=tracked`: it keeps which values are known, and computes what follows from them.

Every tensor of the card is KNOWN (as on a real card), ASSUMED (computed exactly, from values that were chosen) or
UNKNOWN, byte by byte. An operator whose inputs all have values, and which is small, is computed on the host over the
same bytes; the others leave floating-point outputs UNKNOWN. Where whole numbers or booleans are made of unknown values
(a comparison, argmax, top-k, a cast), the unknown values are chosen first (witness.py) and the operator is computed:
so everything that a program reads is one possible run, counts add up and indices are in range.

A mask that was made of unknown values is OPEN. Used as a value it is what it was computed to be; where it sizes
something (`x[mask]`, `nonzero`, a count) it is full first, which is the most that it can select.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from vramfit.base import composite
from vramfit.private import torch as of_torch
from vramfit.private.names import need, nothing
from vramfit.values.memory import is_plain
from vramfit.values.tracked import choosing, computing, factories, transfers
from vramfit.values.tracked.calls import Call, is_card, tensors_in
from vramfit.values.tracked.operators import Kind, operator_of

need(of_torch.overload, *of_torch.SCHEMA, of_torch.overload_name, of_torch.dispatch_mode)


# While a compiler traces, tensors are fake: they have no values, and its own mode, below ours, takes them. Its
# `ignore_compile_internals` does not cover all who trace (vLLM on torch 2.11).
_FAKE = getattr(of_torch.mode_keys.get(), "FAKE", None)
_get_mode = of_torch.running_mode.get() if _FAKE is not None else nothing
TorchDispatchMode = of_torch.dispatch_mode.get()
_Overload = of_torch.overload.get()


class TrackedValues(TorchDispatchMode):
    """One for each thread. Compilers look through it: what they make are kernels, whose outputs are unknown."""

    supports_higher_order_operators = True

    def __init__(self, says: bool = True) -> None:
        super().__init__()
        self.says = says  # what the host reads of values that were chosen
        self.within = self if not says else TrackedValues(says=False)  # for what an operator does within itself

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __torch_dispatch__(self, overload: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not isinstance(overload, _Overload) or _get_mode(_FAKE) is not None:
            return overload(*args, **kwargs)
        operator = operator_of(overload)
        if operator.kind is Kind.COMPOSITE:
            return composite.take_apart(self, overload, args, kwargs)
        if operator.kind is Kind.WITHOUT_VALUES:
            return overload(*args, **kwargs)
        for kind in types:
            if kind is not Tensor and kind is not torch.nn.Parameter:
                return NotImplemented  # a tensor subclass (DTensor, fake) first takes its operator apart
        tensors = tensors_in(args, kwargs)
        for tensor in tensors:
            if tensor.is_cuda:
                break
        else:
            if not is_card(kwargs.get("device")):
                return overload(*args, **kwargs)
        call = Call(self, operator, args, kwargs, tensors)
        if not all(map(is_plain, tensors)):
            return call.run_on_card()
        return _RULES[operator.kind](call)


_RULES = MappingProxyType(
    {
        Kind.PLAIN: lambda call: computing.plain(call) if call.tensors else factories.factory(call),
        Kind.FROM_SHAPES: factories.from_shapes,
        Kind.COPY: transfers.copy,
        Kind.READ: transfers.read,
        Kind.SIZED: choosing.sized_by_values,
        Kind.INDEXED: choosing.indexed,
        Kind.COUNTS: computing.counts,
        Kind.COMPARES: computing.compares,
        Kind.ARRANGES: computing.arranges,
        Kind.CHOOSES: choosing.chooses,
        Kind.EACH: computing.each,
        Kind.HEAVY: computing.heavy,
    }
)
