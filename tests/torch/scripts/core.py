"""The virtual GPU's own duties, one function each: `core.py NAME...` prints a JSON line for each, in that order."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import torch

MIB = 1 << 20


def tensors() -> dict[str, Any]:
    x = torch.zeros(3, 4, device="cuda")
    w = torch.ones(1000, device="cuda", requires_grad=True)
    (w * w).exp().sum().backward()
    return {"zeros": x.tolist(), "grad": list(w.grad.shape), "allocated": torch.cuda.memory_allocated()}


def out_of_memory() -> dict[str, Any]:
    """Runs into the limit in steps of 64 MiB, then asks what is left."""
    kept: list[torch.Tensor] = []
    message = ""
    try:
        while True:
            kept.append(torch.empty(64 * MIB, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError as error:
        message = str(error)
    free, total = torch.cuda.mem_get_info()
    return {"message": message, "blocks": len(kept), "free": free, "total": total}


def segments() -> dict[str, Any]:
    """Five blocks of 30 MiB, two of them freed and the cache emptied."""
    kept = [torch.zeros(30 * MIB, dtype=torch.uint8, device="cuda") for _ in range(5)]
    before = torch.cuda.memory_reserved()
    del kept[1:3]
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return {"before": before, "after": torch.cuda.memory_reserved(), "allocated": torch.cuda.memory_allocated()}


def graphs() -> dict[str, Any]:
    x = torch.zeros(1000, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            y = x * 2 + 1
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = (x * 2 + 1).exp()
    for _ in range(5):
        graph.replay()
    torch.cuda.synchronize()
    layer = torch.nn.Linear(16, 16).cuda()
    sample = torch.randn(4, 16, device="cuda", requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(layer, (sample,))
    graphed(sample).sum().backward()
    refused = ""
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            y.sum().item()
    except RuntimeError as error:
        refused = str(error)
    return {"shape": list(y.shape), "refused": refused}


def streams() -> dict[str, Any]:
    """A block used on another stream stays active until that stream is known to have finished."""
    side = torch.cuda.Stream()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    x = torch.zeros(MIB, device="cuda")
    with torch.cuda.stream(side):
        for _ in range(50):
            y = x + 1
        x.record_stream(side)
    del x, y
    stats = torch.cuda.memory_stats()
    pending = stats["active_bytes.all.current"] - stats["allocated_bytes.all.current"]
    end.record(side)
    was_done = end.query()
    torch.cuda.synchronize()
    torch.zeros(1, device="cuda")
    stats = torch.cuda.memory_stats()
    left = stats["active_bytes.all.current"] - stats["allocated_bytes.all.current"]
    return {"pending": pending, "left": left, "was_done": was_done, "ms": start.elapsed_time(end)}


def pinned() -> dict[str, Any]:
    x = torch.arange(1000, dtype=torch.float32).pin_memory()
    y = x.to("cuda", non_blocking=True)
    return {"pinned": x.is_pinned(), "same": torch.equal(y.cpu(), x)}


def contents() -> dict[str, Any]:
    """A new tensor never shows what an old one left in the same block."""
    old = torch.full((100,), 7.0).cuda()
    address, value = old.data_ptr(), old[0].item()
    del old
    new = torch.empty(100, device="cuda")
    return {"same_block": new.data_ptr() == address, "old": value, "new": new[0].item()}


def reports() -> dict[str, Any]:
    torch.cuda.memory._record_memory_history()
    x = torch.zeros(4 * MIB, device="cuda")
    snapshot = torch.cuda.memory._snapshot()
    owned = sum(segment["total_size"] for segment in snapshot["segments"])
    return {
        "segments": owned,
        "reserved": torch.cuda.memory_reserved(),
        "summary": torch.cuda.memory_summary(),
        "actions": [entry["action"] for entry in snapshot["device_traces"][0]],
        "bytes": x.nbytes,
    }


def fork() -> dict[str, Any]:
    torch.zeros(1, device="cuda")
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            torch.zeros(1, device="cuda")
        except RuntimeError as error:
            os.write(write, str(error).encode())
        os._exit(0)
    os.wait()
    os.close(write)
    return {"child": os.read(read, 4096).decode()}


def old_card() -> dict[str, Any]:
    message = ""
    try:
        torch.zeros(3, device="cuda")
    except RuntimeError as error:
        message = str(error)
    supported = torch.cuda.get_arch_list()
    return {"message": message, "supported": supported, "capability": list(torch.cuda.get_device_capability())}


CHECKS: dict[str, Callable[[], dict[str, Any]]] = {
    check.__name__: check
    for check in (tensors, out_of_memory, segments, graphs, streams, pinned, contents, reports, fork, old_card)
}

if __name__ == "__main__":
    for name in sys.argv[1:]:
        torch.cuda.empty_cache()
        print(json.dumps(CHECKS[name]()))
