"""Runs as `vramfit runs --export` writes them, to be taken into a history of a test's own."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

MIB = 1 << 20
HOSTILE = "</script><script>alert('x')</script><img src=http://example.invalid/x onerror=alert(2)>\" onload=\"alert(3)"


def peaks(allocated: int, reserved: int, device: int) -> dict[str, int]:
    return {
        "peak_allocated_bytes": allocated * MIB,
        "peak_reserved_bytes": reserved * MIB,
        "peak_device_bytes": device * MIB,
    }


def device(index: int = 0) -> dict[str, Any]:
    sizes = {"total_bytes": 8000 * MIB, "context_bytes": 100 * MIB, "library_bytes": 20 * MIB}
    return {"index": index, "name": "NVIDIA Test Card", "allocation_retries": 0, **sizes, **peaks(3000, 4000, 4120)}


def phases() -> list[dict[str, Any]]:
    return [
        {"name": name, "device": 0, "steps": 2, **peaks(1000 * (i + 1), 1500 * (i + 1), 1500 * (i + 1) + 120)}
        for i, name in enumerate(("load", "train"))
    ]


def timeline(text: str) -> list[dict[str, Any]]:
    return [
        {
            "at_ns": 10_000_000_000 + i * 50_000_000,
            "device": 0,
            "phase": "load" if i < 20 else "train",
            "allocated_bytes": (100 + 900 * (i % 4) if i >= 20 else i * 10) * MIB,
            "reserved_bytes": (4000 if i >= 20 else i * 20) * MIB,
            "mark": text if i == 30 else None,
        }
        for i in range(60)
    ]


def result(text: str, verdict: str) -> dict[str, Any]:
    """What `vramfit run --json` writes. `text` stands wherever a script's own words do."""
    owners = ["weights", "gradients", "optimizer", "activations", "cached", "context", "libraries", "unexplained"]
    frame = {"file": text, "line": 3, "function": text, "code": text}
    failed = verdict == "out_of_memory"
    return {
        "vramfit": "0.1.0",
        "verdict": verdict,
        "reason": None,
        "exit_code": 1 if failed else 0,
        "torch": "2.12.1",
        "cuda": "13.0",
        "python": "3.11",
        "wall_seconds": 3.5,
        "peak_device": 0,
        "peak_phase": "train",
        "devices": [device()],
        "phases": phases(),
        "owners_at_peak": [
            {"owner": owner, "name": text, "device": 0, "bytes": (900 - 100 * i) * MIB, "blocks": i, "line": text}
            for i, owner in enumerate(owners)
        ],
        "lines_at_peak": [{"line": text, "device": 0, "bytes": 700 * MIB, "blocks": 4}],
        "oom": {"tried_bytes": 64 * MIB, "message": text, "phase": "train", "caught": False, "stack": [frame]}
        if failed
        else None,
        "error": None,
        "cuts": [text],
        "depends_on_data": [{"what": text, "line": text, "count": 1}],
        "not_modelled": [],
        "assumed": [{"text": "an estimate", "count": 2}],
        "warnings": [{"text": text, "count": 1}],
        "timeline": timeline(text),
    }


def plan(name: str, standing: str, peak: int, factor: float) -> dict[str, Any]:
    proven = {**peaks(peak - 300, peak - 200, peak), "allocation_retries": 0, "wall_seconds": 2.0, "source": "run"}
    return {
        "name": name,
        "techniques": [],
        "standing": standing,
        "predicted": {"needs_bytes": (peak + 50) * MIB, "source": "model"},
        "proven": None if standing == "not_run" else proven,
        "time": {"factor": factor, "source": "model"},
        "effect": "same",
        "consequences": ["a consequence"],
        "reason": None if standing == "fits" else "too large",
    }


def fit_result(text: str) -> dict[str, Any]:
    fit = {
        "verdict": "plan_fits",
        "reason": None,
        "card": "NVIDIA Test Card",
        "card_index": 0,
        "cards": 1,
        "limit_bytes": 4000 * MIB,
        "cause": None,
        "plans": [plan("bf16 autocast", "fits", 3500, 0.8), plan("micro-batch 2 x 4", "fits", 2500, 1.3)],
        "lost": [plan("checkpoint 2 blocks", "does_not_fit", 4600, 1.2), plan(text, "not_run", 6000, 1.0)],
        "techniques": [{"id": "autocast", "standing": "applicable", "reason": None}],
        "cheapest_known": True,
        "plan_file": "plan.json",
        "prove_command": f"vramfit run --plan plan.json -- {text}",
        "train_command": None,
        "seconds": 12.0,
        "budget_seconds": 60.0,
        "runs": 4,
        "candidates": 40,
        "ruled_out": 30,
        "free_run": None,
    }
    return {**result(text, "out_of_memory"), "fit": fit}


def stored(number: int, verb: str, outcome: dict[str, Any], text: str) -> dict[str, Any]:
    return {
        "number": number,
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{number} {verb}")),
        "state": "ended",
        "started_ms": 1_750_000_000_000,
        "ended_ms": 1_750_000_003_500,
        "tags": ["paper"],
        "note": text,
        "verb": verb,
        "command": ["python", text],
        "folder": text,
        "script": text,
        "script_hash": "0" * 40,
        "git": {"commit": "1" * 40, "branch": text, "has_changes": True},
        "host": text,
        "vramfit": "0.1.0",
        "card": "test",
        "plan": "",
        "parent": None,
        "verdict": outcome.get("fit", outcome)["verdict"],
        "reason": "",
        "exit_code": outcome["exit_code"],
        "wall_seconds": 3.5 * number,
        "torch": "2.12.1",
        "cuda": "13.0",
        "python": "3.11",
        "devices": outcome["devices"],
        "phases": outcome["phases"],
        "findings": [],
        "result": json.dumps(outcome),
    }


def write_history(file: Path, text: str = "train.py:12 in main") -> None:
    """Run 1 fits, 2 runs out of memory, 3 is a fit."""
    runs = [
        stored(1, "run", result(text, "fits"), text),
        stored(2, "run", result(text, "out_of_memory"), text),
        stored(3, "fit", fit_result(text), text),
    ]
    file.write_text(json.dumps({"vramfit": "0.1.0", "runs": runs}))
