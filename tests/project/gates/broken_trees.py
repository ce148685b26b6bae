"""Trees with something wrong in them, and a gate of `tools/` on one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run_gate(root: Path, name: str, tree: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, root / "tools" / name, tree], capture_output=True, text=True)


def write(tree: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    return tree
