"""The Pythons of this machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def find_python(minor: int) -> Path | None:
    found = shutil.which(f"python3.{minor}")
    others = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))
    works = [path for path in [*others, *([Path(found)] if found else [])] if runs(path)]
    return works[0] if works else None


def runs(python: Path) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True).returncode == 0
