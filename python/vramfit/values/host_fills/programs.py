"""What is put off: a program of operations for each allocation, until somebody looks at it or it is over."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vramfit.base import notes, process
from vramfit.contract.functions import HostCall
from vramfit.private import torch as of_torch
from vramfit.values.host_fills.calls import ADD, BINARY, KINDS, LARGE


@dataclass
class Step:
    """One operation of a program, for any tensor of that shape."""

    name: str
    first: float = 0.0
    second: float = 0.0
    state: Any = None  # of the generator, before it
    region: tuple[Any, Any, int] | None = None  # size, stride and offset of the view it writes; None = all


@dataclass
class Program:
    """What is to be written to one allocation."""

    number: int
    shape: Any
    dtype: Any
    steps: list[Step]
    alias: Any  # a tensor over the reserved memory
    alive: list[Any] = field(default_factory=list)  # tensors and generators that the calls name
    scratch: list[tuple[int, int]] = field(default_factory=list)  # further reserved memory, to be given back


class Fills:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.on = False
        self.library: Any = None
        self.functions: dict[str, int] = {}
        self.rules: dict[tuple[str, Any], Callable[[int], int] | None] = {}
        self.programs: dict[int, tuple[int, Program]] = {}  # by number: address, program
        self.by_address: dict[int, Program] = {}
        self.originals: dict[str, Any] = {}
        self.watched: dict[str, tuple[Any, Any]] = {}  # methods of Tensor: what was there, what is there now


fills = process.own(Fills)


def _drain() -> None:
    """Lets go of programs that are over."""
    numbers = (ctypes.c_uint64 * 64)()
    while count := fills.library.vramfit_host_over(numbers, 64):
        for number in numbers[:count]:
            address, program = fills.programs.pop(number, (0, None))
            if program is None:
                continue
            if fills.by_address.get(address) is program:
                del fills.by_address[address]
            for reserved, size in program.scratch:
                fills.library.vramfit_host_release(reserved, size)


def _tensor_over(address: int, shape: Any, dtype: Any) -> Any:
    torch = sys.modules["torch"]
    size = shape.numel() * dtype.itemsize
    with torch.inference_mode(False):
        return torch.frombuffer((ctypes.c_uint8 * size).from_address(address), dtype=dtype).view(shape)


def _runs_in_mode() -> bool:
    """Whether a mode of somebody's runs who may look at operators on the host: the one that follows values on cards
    does not."""
    tracked = sys.modules.get("vramfit.values.tracked.mode")
    return of_torch.runs_in_mode_of_others(tracked.TrackedValues) if tracked else of_torch.runs_in_mode()


def is_plain(tensor: Any) -> bool:
    torch = sys.modules["torch"]
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and not (tensor.requires_grad and torch.is_grad_enabled())
        and tensor.grad_fn is None
        and not _runs_in_mode()
        and not tensor.is_conj()
        and not tensor.is_neg()
    )


def whole_address(tensor: Any) -> int:
    """The address of the allocation that a tensor is all of; 0 when it is none of ours, or only a part."""
    size = tensor.numel() * tensor.element_size()
    if size < LARGE or not tensor.is_contiguous():
        return 0
    storage = tensor.untyped_storage()
    address = storage.data_ptr()
    if storage.nbytes() != size or tensor.storage_offset() != 0:
        return 0
    return address if fills.library.vramfit_host_allocation(address) >= size else 0


def call_of(step: Step, alias: Any, alive: list[Any], other: Any = None) -> HostCall:
    torch = sys.modules["torch"]
    signature = KINDS[step.name]
    target = alias if step.region is None else alias.as_strided(*step.region)
    alive.append(target)
    generator = None
    if step.state is not None:
        generator = torch.Generator()
        generator.set_state(step.state)
        alive.append(generator)
    elif signature in (BINARY, ADD):
        other = torch.tensor(step.first, dtype=torch.float64)
    if other is not None:
        alive.append(other)
    return HostCall(
        signature,
        fills.functions[step.name],
        of_torch.tensor_object.of(target),
        of_torch.tensor_object.of(other) if other is not None else None,
        of_torch.generator_object.of(generator) if generator is not None else None,
        step.first,
        step.second,
    )


def defer(tensor: Any, address: int, steps: list[Step], cast_from: Any = None) -> bool:
    """Puts off `steps` on a tensor that is all of an allocation; with `cast_from`, on one of that type, then copied."""
    _drain()
    size = fills.library.vramfit_host_allocation(address)
    reserved = fills.library.vramfit_host_reserve(size)
    if not reserved:
        return False
    alive: list[Any] = []
    scratch: list[tuple[int, int]] = []
    alias = _tensor_over(reserved, tensor.shape, tensor.dtype)
    written = alias
    if cast_from is not None:
        source_size = tensor.numel() * cast_from.itemsize
        scratch.append((fills.library.vramfit_host_reserve(source_size), source_size))
        written = _tensor_over(scratch[0][0], tensor.shape, cast_from)
    calls = [call_of(step, written, alive) for step in steps]
    if cast_from is not None:
        calls.append(call_of(Step("copy_"), alias, alive, other=written))
    number = fills.library.vramfit_host_defer(address, reserved, (HostCall * len(calls))(*calls), len(calls))
    if not number:
        fills.library.vramfit_host_release(reserved, size)
        return False
    # A cast's steps can't be repeated from its own values: it takes no further cast.
    program = Program(number, tensor.shape, tensor.dtype, [] if cast_from else steps, alias, alive, scratch)
    fills.programs[number] = (address, program)
    fills.by_address[address] = program
    return True


def guarded(function: Callable[..., bool], *arguments: Any) -> bool:
    try:
        return function(*arguments)
    except Exception as error:
        notes.hook_failed("host_fills", error)
        return False
