"""The Pythons of this machine, and those that platforms.json knows."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

PLATFORMS = Path(__file__).resolve().parents[2] / "platforms.json"


def known_minors() -> range:
    """The minors of Python 3 that some torch of platforms.json has a wheel for."""
    spans = [release["python"] for release in json.loads(PLATFORMS.read_text())["torch"]]
    return range(min(first for first, _ in spans), max(last for _, last in spans) + 1)


def find_python(minor: int) -> Path | None:
    found = shutil.which(f"python3.{minor}")
    others = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))
    works = [path for path in [*others, *([Path(found)] if found else [])] if runs(path)]
    return works[0] if works else None


def runs(python: Path) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True).returncode == 0
