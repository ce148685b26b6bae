"""Pages opened in a real Chromium, and what was seen there."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# Telephones, tablets, laptops and the widest screens; each theme at a narrow and at a wide one.
SIZES = [("dark", 390), ("light", 800), ("light", 1280), ("dark", 2560)]


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


def check_is_whole(seen: dict[str, Any]) -> None:
    """What `drive` must have seen of any page."""
    assert seen["said"] == []
    assert seen["requests"] == []
    assert seen["dialogs"] == []
    assert seen["violations"] == []
    assert seen["rules_passed"] > 20
    assert seen["sideways"] <= 0, "the page itself does not scroll sideways"
    assert seen["printed"] > 10_000
    levels = [level for level, _ in seen["headings"]]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(levels, levels[1:]))
