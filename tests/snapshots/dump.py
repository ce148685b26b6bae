"""Runs vramfit_snapshot_dump, which prints what the C++ readers read."""

from __future__ import annotations

import json
import os
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@lru_cache(maxsize=1)
def find_tool() -> Path:
    """Finds it beside the stage that is tested, or in the newest build."""
    if stage := os.environ.get("VRAMFIT_STAGE"):
        candidates = [Path(stage).resolve().parent / "tools" / "vramfit_snapshot_dump"]
    else:
        candidates = sorted(ROOT.glob("build/*/tools/vramfit_snapshot_dump"), key=lambda path: -path.stat().st_mtime)
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    pytest.skip("vramfit_snapshot_dump is not built: ninja vramfit_snapshot_dump")


def run(mode: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(find_tool()), mode, str(path)], capture_output=True, text=True, timeout=120)


def dump(mode: str, path: Path) -> Any:
    done = run(mode, path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
