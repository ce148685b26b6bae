"""Checks one operator on the virtual card against the same call on the CPU: shapes, types, and memory to the byte."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch

DEVICE = "cuda"
needs_card = pytest.mark.skipif(
    not os.environ.get("VRAMFIT_LEDGER"), reason="runs inside `vramfit run`, started by test_operators.py"
)
TORCH = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def since(major: int, minor: int) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        (major, minor) > TORCH, reason=f"this release of torch has no such: {major}.{minor} brought it"
    )


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Every tensor of a nested result, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_in(item)


def block_bytes(values: Any) -> int:
    """What PyTorch's allocator counts for the storages of some tensors: multiples of 512, each storage once."""
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors_in(values) if t.is_cuda}
    return sum((size + 511) // 512 * 512 for size in storages.values() if size)


def make(shape: Sequence[int], dtype: torch.dtype, device: str, grad: bool = False) -> torch.Tensor:
    """A tensor of ones: integers stay in range as indices of two elements or more."""
    return torch.ones(tuple(shape), dtype=dtype, device=device, requires_grad=grad)


def same_kind(found: Any, expected: Any) -> None:
    """Shapes and types of every tensor agree."""
    of = [(tuple(t.shape), t.dtype) for t in tensors_in(found)]
    wanted = [(tuple(t.shape), t.dtype) for t in tensors_in(expected)]
    assert of == wanted


def check_forward(function: Callable[..., Any], shapes: Sequence[Sequence[int]], dtype: torch.dtype) -> None:
    """`function` on tensors of `shapes`: the CPU's shapes and types, and exactly its outputs' bytes kept."""
    with torch.no_grad():
        expected = function(*(make(shape, dtype, "cpu") for shape in shapes))
        inputs = [make(shape, dtype, DEVICE) for shape in shapes]
        warm = function(*inputs)  # handles, workspaces and plans are made once
        same_kind(warm, expected)
        del warm
        gc.collect()
        before = torch.cuda.memory_allocated()
        output = function(*inputs)
        torch.cuda.synchronize()
        outputs = [t for t in tensors_in(output) if all(t.data_ptr() != i.data_ptr() for i in inputs)]
        assert torch.cuda.memory_allocated() - before == block_bytes(outputs)
        assert torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated()


def check_backward(
    function: Callable[..., Any], shapes: Sequence[Sequence[int]], dtype: torch.dtype = torch.float32
) -> None:
    """A backward pass fills a gradient of every input, and what the forward pass saved is given back."""
    inputs = [make(shape, dtype, DEVICE, grad=True) for shape in shapes]
    first = next(tensors_in(function(*inputs)))
    first.sum().backward()
    del first
    for tensor in inputs:
        tensor.grad = None
    before = torch.cuda.memory_allocated()
    output = next(tensors_in(function(*inputs)))
    output.sum().backward()
    assert all(t.grad is not None and t.grad.shape == t.shape and t.grad.dtype == t.dtype for t in inputs)
    del output
    gc.collect()
    assert torch.cuda.memory_allocated() - before == block_bytes([t.grad for t in inputs])


def check_module(module: torch.nn.Module, shape: Sequence[int], dtype: torch.dtype = torch.float32, **to: Any) -> Any:
    """A module's training step: the CPU's output shape, gradients for every parameter and the input."""
    with torch.no_grad():
        expected = module(make(shape, torch.float32, "cpu"))
    module = module.to(device=DEVICE, dtype=dtype, **to)
    x = make(shape, dtype, DEVICE)
    if to:
        x = x.to(**to)
    x.requires_grad_()
    output = module(x)
    assert [tuple(t.shape) for t in tensors_in(output)] == [tuple(t.shape) for t in tensors_in(expected)]
    first = next(tensors_in(output))
    assert first.dtype == dtype
    first.float().sum().backward()
    assert x.grad is not None and x.grad.shape == x.shape
    assert all(p.grad is not None for p in module.parameters())
    return output
