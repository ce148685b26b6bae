"""Runs a script on virtual cards through the product's own command: what it printed and what was measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
STAGE = Path(os.environ.get("VRAMFIT_STAGE") or ROOT / "build" / "dev" / "stage")
SCRIPTS = Path(__file__).resolve().parent / "scripts"
MIB = 1 << 20
SETTINGS = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "VRAMFIT_WITHIN": "0"}


@dataclass
class CardRun:
    """One finished run: what the script printed, and vramfit's result (docs/run.schema.json)."""

    exit_code: int
    stdout: str
    stderr: str
    result: dict[str, Any] = field(default_factory=dict)

    def lines(self) -> list[dict[str, Any]]:
        """The JSON objects that the script printed, one a line: one per rank, by rank."""
        found = [json.loads(line) for line in self.stdout.splitlines() if line.startswith("{")]
        return sorted(found, key=lambda line: line.get("rank", 0))

    def line(self) -> dict[str, Any]:
        (only,) = self.lines()
        return only

    def tail(self) -> str:
        return f"exit {self.exit_code}\n--- stdout\n{self.stdout[-3000:]}\n--- stderr\n{self.stderr[-6000:]}"


def run_on_card(
    *command: str,
    gpu: str = "rtx3090",
    options: tuple[str, ...] = ("--steps", "all"),
    variables: dict[str, str] | None = None,
    folder: Path | None = None,
    timeout: float = 300,
) -> CardRun:
    """`vramfit run --gpu GPU OPTIONS -- COMMAND`. By default nothing is cut short."""
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "run.json"
        whole = [str(STAGE / "bin" / "vramfit"), "run", "--gpu", gpu, "--json", str(report), *options, "--", *command]
        done = subprocess.run(
            whole,
            cwd=folder or place,
            env={**os.environ, **SETTINGS, **(variables or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        result = json.loads(report.read_text()) if report.exists() else {}
    return CardRun(done.returncode, done.stdout, done.stderr, result)


def run_script(name: str, *arguments: str, **how: Any) -> CardRun:
    """One of tests/torch/scripts in this interpreter; fails the test when it fails."""
    return finished(run_on_card(sys.executable, str(SCRIPTS / name), *arguments, **how))


def run_ranks(ranks: int, name: str, *arguments: str, gpu: str | None = None, **how: Any) -> CardRun:
    """The same script on `ranks` cards under the real torchrun."""
    launcher = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks))
    return finished(run_on_card(*launcher, str(SCRIPTS / name), *arguments, gpu=gpu or f"{ranks}xrtx3090", **how))


def finished(run: CardRun) -> CardRun:
    assert run.exit_code == 0, run.tail()
    return run
