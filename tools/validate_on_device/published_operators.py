"""PyTorch's own list of operators with sample inputs (`torch.testing._internal`), each forward and backward."""

from __future__ import annotations

import functools
import itertools
import sys
import types
import unittest
from typing import Any

import torch

from registry import part, workload

SAMPLES = 4


def _databases() -> list[Any]:
    if "expecttest" not in sys.modules:  # only PyTorch's own tests need it, and it is often not installed
        try:
            import expecttest  # noqa: F401
        except ImportError:
            sys.modules["expecttest"] = types.ModuleType("expecttest")
            sys.modules["expecttest"].TestCase = unittest.TestCase  # type: ignore[attr-defined]
    from torch.testing._internal.common_methods_invocations import op_db

    return op_db


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in _tensors(item)]
    return []


def _run(op: Any, dtype: torch.dtype) -> None:
    grad = op.supports_autograd and dtype.is_floating_point
    samples = list(itertools.islice(op.sample_inputs("cuda", dtype, requires_grad=grad), SAMPLES))
    part("inputs")
    for index, sample in enumerate(samples):
        out = _tensors(op(sample.input, *sample.args, **sample.kwargs))
        part(f"{index}.forward")
        wanted = [t for t in out if t.requires_grad and (t.is_floating_point() or t.is_complex())]
        if wanted:
            torch.autograd.backward(wanted, [torch.ones_like(t) for t in wanted])
        del out, wanted
        part(f"{index}.backward")


for _op in _databases():
    for _dtype in (torch.float32, torch.bfloat16, torch.int64):
        if _dtype in _op.dtypesIfCUDA and (_dtype == torch.float32 or torch.float32 not in _op.dtypesIfCUDA):
            _name = f"{_op.name}{'.' + _op.variant_test_name if _op.variant_test_name else ''}"
            workload(f"{_name} {str(_dtype)[6:]}", suite="published_operators")(functools.partial(_run, _op, _dtype))
