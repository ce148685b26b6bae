"""Runs the examples on the CPU, in processes of their own, with the CUDA build of PyTorch that the suite installed.

That build does not even import without NVIDIA's libraries: $VRAMFIT_STAGE (a build's stage folder) lends it the
stand-ins, without any virtual card.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def stand_in_variables() -> dict[str, str]:
    """What a process needs to import torch here; empty where it imports by itself."""
    stage, torch = os.environ.get("VRAMFIT_STAGE"), importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        pytest.skip("no torch in this environment")
    version = (Path(torch.origin).parent / "version.py").read_text()
    cuda = re.search(r"^cuda\b.*= '(\d+)", version, re.MULTILINE)
    if stage is None or cuda is None:
        return {}
    folder = Path(stage) / "lib" / f"cu{cuda[1]}"
    return {"LD_PRELOAD": str(folder / "libvramfit_preload.so"), "LD_LIBRARY_PATH": str(folder)}


class Example:
    """One folder of examples/, run with this interpreter in a scratch folder."""

    def __init__(self, name: str, scratch: Path) -> None:
        self.folder = EXAMPLES / name
        self.scratch = scratch

    def script(self, script: str, *arguments: object) -> str:
        """Runs a script of the example; returns its stdout. Fails the test when the script fails."""
        return self._run([str(self.folder / script), *map(str, arguments)])

    def code(self, code: str) -> str:
        """Runs code that may import the example's modules; returns its stdout."""
        return self._run(["-c", code])

    def _run(self, arguments: list[str]) -> str:
        variables = {name: value for name, value in os.environ.items() if not name.startswith("VRAMFIT_")}
        variables |= stand_in_variables() | {"PYTHONPATH": str(self.folder), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.scratch, env=variables, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture
def example(tmp_path):
    return lambda name: Example(name, tmp_path)
