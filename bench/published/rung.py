"""One try in a process of its own: forked from a parent that has imported everything and never touched CUDA."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import torch


def peak_memory() -> dict[str, int]:
    statistics = torch.cuda.memory_stats()
    free, total = torch.cuda.mem_get_info()
    return {
        "allocated_bytes": statistics.get("allocated_bytes.all.peak", 0),
        "reserved_bytes": statistics.get("reserved_bytes.all.peak", 0),
        "retries": statistics.get("num_alloc_retries", 0),
        "device_bytes": total - free,
    }


def try_rung(job: Callable[[], None]) -> dict:
    """{"status": "ok" | "out_of_memory" | "failed", peaks or error} of ``job``."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w") as out:
            json.dump(run_here(job), out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as source:
        text = source.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text else {"status": "failed", "error": f"wait status {status}"}


def try_rows(rows: Iterable[dict], job: Callable[[dict], None], describe: Callable[[dict], str], out: Path) -> None:
    """Tries ``job`` on each row. ``out`` holds the rows so far with their results, which ``describe`` puts in words."""
    results = []
    for row in rows:
        results.append({**row, **try_rung(functools.partial(job, row))})
        print(describe(results[-1]), file=sys.stderr, flush=True)
        out.write_text(json.dumps(results, indent=1))


def describe_allocated(name: str, measured: str, row: dict) -> str:
    here = f"{row['allocated_bytes'] / 1e9:.2f}" if row["status"] == "ok" else row["error"]
    return f"{row[name]}: measured {row[measured]} GB, here {here}"


def run_here(job: Callable[[], None]) -> dict:
    try:
        job()
        torch.cuda.synchronize()
    except torch.OutOfMemoryError as error:
        return {"status": "out_of_memory", "error": str(error).split(" See documentation")[0], **peak_memory()}
    except Exception as error:  # one model that can't run here must not end the benchmark
        return {"status": "failed", "error": f"{type(error).__name__}: {error}"[:300]}
    return {"status": "ok", **peak_memory()}
