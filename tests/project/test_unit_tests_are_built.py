"""Every unit test of C++ stands in a CMake list: one that nobody compiles would fail in silence."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path


def compiled_in(build: Path) -> set[Path]:
    """The files that ninja compiles, those of CMake's batches one by one."""
    found: set[Path] = set()
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = Path(entry["file"])
        found.add(file)
        if "Unity" in file.parts:
            found |= {Path(name) for name in re.findall(r'^#include "(.+)"$', file.read_text(), re.MULTILINE)}
    return found


def test_every_unit_test_is_compiled(root: Path) -> None:
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*_test.cc"]
    tests = {root / name for name in subprocess.check_output(listed, cwd=root, text=True).split()}
    assert tests
    assert tests - compiled_in(root / "build" / "dev") == set()
