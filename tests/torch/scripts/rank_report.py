"""What each rank prints at its end: one JSON line."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import torch


def parameter_bytes(module: torch.nn.Module) -> int:
    return sum(parameter.numel() * parameter.element_size() for parameter in module.parameters())


def report(**facts: Any) -> None:
    """One write, so that the lines of several ranks stay whole."""
    line = {
        "rank": int(os.environ.get("RANK", 0)),
        "allocated": torch.cuda.memory_allocated(),
        "peak_allocated": torch.cuda.max_memory_allocated(),
        "peak_reserved": torch.cuda.max_memory_reserved(),
        **facts,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
