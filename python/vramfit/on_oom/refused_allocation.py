"""What is collected at the moment of an out-of-memory error: PyTorch calls us when the driver has refused, before it
raises. The functions that lead there still run, so their variables have names; the allocator is free to be asked.

Every error counts, a caught one too: a script that halves its batch and goes on leaves its reports, up to a few.
"""

from __future__ import annotations

import gc
import sys
import threading
import traceback
from typing import Any

from vramfit.base import frames, notes
from vramfit.contract import notes as said
from vramfit.contract import told
from vramfit.diagnose import groups, live_tensors
from vramfit.observe import owners
from vramfit.on_oom import history, progress_marks, report
from vramfit.on_oom.collected import RefusedAllocation, collected
from vramfit.private import torch as of_torch

MAX_MOMENTS = 3
_MAX_FRAMES = 100
_MIN_BYTES = 1 << 16


def install(torch: Any) -> None:
    collected.torch = torch
    of_torch.lazy_call(_card_opened)


@notes.guarded("on_oom.card_opened")
def _card_opened() -> None:
    torch = collected.torch
    of_torch.attach_oom_observer(_out_of_memory)
    history.History(torch).begin()
    progress_marks.begin(torch)


def _out_of_memory(device: int, tried: int, total: int, free: int) -> None:
    """The observer. Whatever fails in here must not reach PyTorch."""
    collected.errors += 1
    if len(collected.moments) >= MAX_MOMENTS:
        return
    try:
        moment = RefusedAllocation(device, tried, total, free, _stack())
        collected.moments.append(moment)
        for part in (_measure, _find_owners, _take_snapshot):
            _guarded(part, moment)
        report.write(moment, len(collected.moments))
        moment.snapshot = None
    except Exception as error:
        notes.hook_failed("on_oom", error)


def _guarded(part: Any, moment: RefusedAllocation) -> None:
    try:
        part(moment)
    except Exception as error:
        notes.hook_failed(f"on_oom.{part.__name__}", error)


def _stack() -> list[told.CodeFrame]:
    """This thread's frames, or the main thread's: autograd's threads run no Python of their own."""
    frame = sys._getframe()
    while frame is not None and frames.is_ours(frame.f_code.co_filename):
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        frame = sys._current_frames().get(threading.main_thread().ident or 0)  # type: ignore[assignment]
    summary = traceback.extract_stack(frame, limit=_MAX_FRAMES) if frame is not None else []
    return [
        told.CodeFrame(file=each.filename, line=each.lineno, function=each.name, code=each.line or "")
        for each in summary
        if not each.filename.startswith("<frozen") and not frames.is_ours(each.filename)
    ]


def _measure(moment: RefusedAllocation) -> None:
    cuda = collected.torch.cuda
    moment.allocated = int(cuda.memory_allocated(moment.device))
    moment.reserved = int(cuda.memory_reserved(moment.device))
    moment.summary = str(cuda.memory_summary(moment.device))


def _take_snapshot(moment: RefusedAllocation) -> None:
    moment.snapshot = of_torch.take_snapshot()
    wanted = {entry.address: entry for entry in moment.held}
    for segment in moment.snapshot.get("segments", ()):
        address = segment["address"]
        for block in segment["blocks"]:
            entry: said.TensorGroup | None = wanted.get(block.get("address", address))
            if entry is not None:
                entry.line = _script_line(block.get("frames", ()))
            address += block["size"]


def _script_line(stack: Any) -> str:
    """The innermost place of the user's own in a stack of PyTorch's memory history."""
    for each in stack:
        file = str(each.get("filename", ""))
        if frames.is_script_file(file):
            return frames.spelled(file, int(each.get("line", 0)), str(each.get("name", "")))
    return ""


def _find_owners(moment: RefusedAllocation) -> None:
    """Weights, gradients and optimizer state by the objects that hold them; the rest by the script's names."""
    torch = collected.torch
    modules, optimizers = _modules_and_optimizers(torch)
    where: dict[int, str] = {}
    sizes: dict[int, int] = {}

    def add(tensor: Any, owner: str) -> None:
        address = owners.address_of(tensor)
        if address and tensor.device.index == moment.device:
            where.setdefault(address, owner)
            sizes[address] = live_tensors.storage_bytes(tensor)

    for module in modules:
        for parameter in of_torch.parameters.of(module).values():
            if parameter is not None and live_tensors.is_tensor(parameter):
                add(parameter, "weights")
                if parameter.grad is not None:
                    add(parameter.grad, "gradients")
        for buffer in of_torch.buffers.of(module).values():
            if buffer is not None and live_tensors.is_tensor(buffer):
                add(buffer, "buffers")
    for optimizer in optimizers:
        for _, tensor in owners.state_tensors(optimizer):
            add(tensor, "optimizer")
    rest = list(live_tensors.without(live_tensors.find_all(), set(where) | progress_marks.storages()))
    rest = [tensor for tensor in rest if tensor.device.index == moment.device]
    described = groups.describe(rest)
    moment.held = [entry for entry in described if entry.bytes >= _MIN_BYTES] or described[:3]
    for address, owner in where.items():
        moment.owned[owner] = moment.owned.get(owner, 0) + sizes[address]
    named = {owners.address_of(tensor): live_tensors.storage_bytes(tensor) for tensor in rest}
    moment.owned["tensors"] = sum(named.values())
    moment.more = (
        max(0, len(rest) - sum(entry.tensors for entry in moment.held)),
        max(0, moment.owned["tensors"] - sum(entry.bytes for entry in moment.held)),
    )
    # What no Python object stands for: saved for backward, temporaries of the running operator, rounding.
    moment.owned["saved for backward and temporary"] = max(0, moment.allocated - sum(moment.owned.values()))


def _modules_and_optimizers(torch: Any) -> tuple[list[Any], list[Any]]:
    found = gc.get_objects()
    kinds: dict[type, str] = {}
    modules, optimizers = [], []
    for each in found:
        kind = type(each)
        known = kinds.get(kind)
        if known is None:
            mro = kind.__mro__
            known = "module" if torch.nn.Module in mro else "optimizer" if torch.optim.Optimizer in mro else ""
            kinds[kind] = known
        if known == "module" and each.__dict__.keys() >= of_torch.REGISTERS:
            modules.append(each)
        elif known == "optimizer" and "state" in each.__dict__:
            optimizers.append(each)
    return modules, optimizers
