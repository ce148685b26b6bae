"""Pages opened in a real Chromium, and what was seen there."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def ask(packages: Path, driver: str, question: dict[str, Any]) -> dict[str, Any]:
    question["chromium"] = shutil.which("chromium") or shutil.which("google-chrome")
    done = subprocess.run(
        ["node", str(HERE / driver), str(packages)],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def drive(packages: Path, page: Path, scheme: str = "light", width: int = 1280) -> dict[str, Any]:
    """What every page must be: whole, quiet, accessible."""
    screenshot = str(page.with_name(f"{page.stem}-{scheme}-{width}.png"))
    return ask(packages, "drive.mjs", {"page": str(page), "scheme": scheme, "width": width, "screenshot": screenshot})


def use_trace(packages: Path, page: Path, width: int = 1280) -> dict[str, Any]:
    """A snapshot's page, used step by step."""
    screenshot = str(page.with_name(f"{page.stem}-used-{width}.png"))
    return ask(packages, "drive_trace.mjs", {"page": str(page), "width": width, "screenshot": screenshot})
