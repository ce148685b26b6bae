"""Runs each workload in a process of its own and reads PyTorch's allocator afterwards."""

from __future__ import annotations

import collections
import gc
import hashlib
import json
import os
import platform
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import torch

from driver import PROBES, Nvml
from registry import Workload, report_parts_to

STATISTICS = {
    "allocated_bytes": "allocated_bytes.all.peak",
    "reserved_bytes": "reserved_bytes.all.peak",
    "requested_bytes": "requested_bytes.all.peak",
    "allocations": "allocation.all.allocated",
    "segments": "segment.all.allocated",
    "retries": "num_alloc_retries",
}


def measure(workload: Workload, limit_seconds: float) -> dict:
    """One row: peaks, the sizes of all blocks and segments asked for, or why there is none."""
    return in_a_fork(lambda: run_here(workload), limit_seconds)


def probe(name: str, limit_seconds: float) -> dict:
    """One probe of the driver, in a process that torch has not touched the card in."""

    def here() -> dict:
        try:
            return {"status": "ok", **PROBES[name]()}
        except (AttributeError, OSError, RuntimeError) as error:
            return {"status": "failed", "error": str(error)}

    return in_a_fork(here, limit_seconds)


def in_a_fork(function: Callable[[], dict], limit_seconds: float) -> dict:
    """The parent never touches CUDA, so a fork is a fresh process with torch already imported."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w") as out:
            json.dump(function(), out)
        os._exit(0)
    os.close(writer)
    return collect(child, reader, limit_seconds)


def collect(child: int, reader: int, limit_seconds: float) -> dict:
    """Reads what the child wrote; a child that is too slow or dies is a row too."""
    text, deadline = b"", time.monotonic() + limit_seconds
    with os.fdopen(reader, "rb") as source:
        while True:
            ready, _, _ = select.select([source], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return {"status": "timeout", "error": f"stopped after {limit_seconds:.0f} s"}
            piece = os.read(source.fileno(), 1 << 16)
            if not piece:
                break
            text += piece
    _, status = os.waitpid(child, 0)
    if not text:
        return {"status": "died", "error": f"wait status {status}"}
    return json.loads(text)


def run_here(workload: Workload) -> dict:
    os.environ.update(workload.settings)
    apply_allocator_settings(workload.settings.get("PYTORCH_CUDA_ALLOC_CONF"))
    started = time.perf_counter()
    parts = Parts()
    try:
        torch.manual_seed(0)
        torch.cuda.init()
        torch.cuda.synchronize()
        parts.begin()
        report_parts_to(parts.end)
        workload.run()
        torch.cuda.synchronize()
        gc.collect()
    except Exception as error:  # an operator that this version or card lacks is a result
        reason = traceback.format_exception_only(type(error), error)[-1].strip()
        seconds = round(time.perf_counter() - started, 3)
        return {"status": "failed", "error": reason[:500], "seconds": seconds, "parts": parts.rows}
    statistics = torch.cuda.memory_stats()
    row: dict = {name: statistics.get(key, 0) for name, key in STATISTICS.items()}
    row["context_bytes"], row["library_bytes"] = parts.context_bytes, parts.library_bytes()
    row["blocks"], row["segment_sizes"] = asked_sizes()
    return {"status": "ok", **row, "parts": parts.rows, "seconds": round(time.perf_counter() - started, 3)}


class Parts:
    """What each part of a workload asked PyTorch's allocator for, in order, and what libraries hold after it."""

    def __init__(self) -> None:
        self.rows: dict[str, dict] = {}
        self.nvml = Nvml()
        self.seen = 0
        self.context_bytes: int | None = None

    def begin(self) -> None:
        self.context_bytes = self.nvml.own_bytes()
        gc.freeze()  # what was imported is not looked at again after each part
        torch.cuda.memory._record_memory_history(enabled=None)  # clears what another workload left
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.memory._record_memory_history(context=None, stacks="python", max_entries=200_000)

    def library_bytes(self) -> int | None:
        """What the process holds on the card beside the context and PyTorch's segments."""
        held = self.nvml.own_bytes()
        if held is None or self.context_bytes is None:
            return None
        return held - self.context_bytes - torch.cuda.memory_reserved()

    def end(self, name: str) -> None:
        torch.cuda.synchronize()
        gc.collect()
        trace = [entry for device in torch.cuda.memory._snapshot()["device_traces"] for entry in device]
        asked = [entry["size"] for entry in trace[self.seen :] if entry["action"] == "alloc"]
        self.seen = len(trace)
        self.rows[name] = {
            "peak_bytes": torch.cuda.max_memory_allocated(),
            "live_bytes": torch.cuda.memory_allocated(),
            "library_bytes": self.library_bytes(),
            "asked": asked if len(asked) <= 64 else [len(asked), sum(asked), digest(asked)],
        }
        torch.cuda.reset_peak_memory_stats()


def digest(sizes: list[int]) -> str:
    """The same for the same sizes in the same order."""
    return hashlib.sha256(",".join(map(str, sizes)).encode()).hexdigest()[:16]


def apply_allocator_settings(settings: str | None) -> None:
    """PyTorch reads the variable when it is loaded, which was before the fork."""
    if settings is None:
        return
    newer = getattr(torch._C, "_accelerator_setAllocatorSettings", None)  # from 2.9 on
    (newer or torch.cuda.memory._set_allocator_settings)(settings)


def asked_sizes() -> tuple[dict[str, int], dict[str, int]]:
    """How often each block size and each segment size was asked for: what a comparison explains differences with."""
    blocks: collections.Counter[str] = collections.Counter()
    segments: collections.Counter[str] = collections.Counter()
    for trace in torch.cuda.memory._snapshot()["device_traces"]:
        for entry in trace:
            if entry["action"] == "alloc":
                blocks[str(entry["size"])] += 1
            elif entry["action"] in ("segment_alloc", "segment_map"):
                segments[str(entry["size"])] += 1
    return dict(blocks), dict(segments)


PROVENANCE = """
import json, torch
p = torch.cuda.get_device_properties(0)
print(json.dumps({"name": p.name, "total_bytes": p.total_memory, "capability": [p.major, p.minor],
                  "sm_count": p.multi_processor_count, "cudnn": torch.backends.cudnn.version()}))
"""


def provenance() -> dict:
    """The place where, and what with, the rows were measured. Asks for the card in another process, to keep this one
    clean."""
    card = json.loads(
        subprocess.run([sys.executable, "-c", PROVENANCE], capture_output=True, text=True, check=True).stdout
    )
    return {
        "card": card,
        "virtual": "VRAMFIT_LEDGER" in os.environ,
        "driver": driver_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "settings": {
            name: value for name, value in os.environ.items() if name.startswith(("PYTORCH_", "CUBLAS", "CUDA_MOD"))
        },
    }


def driver_version() -> str | None:
    path = Path("/proc/driver/nvidia/version")
    return path.read_text().splitlines()[0] if path.exists() else None
