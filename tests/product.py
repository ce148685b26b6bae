"""The built program as tests call it: where it is, and one run with what came of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STAGE = Path(os.environ.get("VRAMFIT_STAGE") or ROOT / "build" / "dev" / "stage")
VRAMFIT = STAGE / "bin" / "vramfit"


def strict_schema(name: str) -> dict[str, Any]:
    """docs/NAME.schema.json, which allows new fields, as tests want it: no field that is not described."""

    def close(part: Any) -> Any:
        if isinstance(part, list):
            return [close(one) for one in part]
        if not isinstance(part, dict):
            return part
        closed = {key: close(value) for key, value in part.items()}
        if isinstance(part.get("properties"), dict) and "additionalProperties" not in part:
            closed["additionalProperties"] = False
        return closed

    return close(json.loads((ROOT / "docs" / f"{name}.schema.json").read_text()))


def wait_for(what: Callable[[], Any], seconds: float = 30) -> Any:
    """What it gives once it is true. The limit is for a machine that is busy with other things."""
    end = time.monotonic() + seconds
    while not (value := what()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
    return value


@dataclass
class Finished:
    exit_code: int
    stdout: str
    stderr: str
    result: dict[str, Any] = field(default_factory=dict)  # what --json wrote; empty: nothing

    def __str__(self) -> str:
        return f"exit {self.exit_code}\n--- stdout\n{self.stdout[-2000:]}\n--- stderr\n{self.stderr[-4000:]}"


@dataclass
class Product:
    """Runs things in a folder of its own, whose `tmp` is the TMPDIR of every run."""

    folder: Path
    warm: str = ""  # the socket of a Python that has imported torch (tests/warm_python.py); empty: none

    @property
    def temporary(self) -> Path:
        path = self.folder / "tmp"
        path.mkdir(exist_ok=True)
        return path

    def environment(self, **variables: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("VRAMFIT_")}
        kept.pop("XDG_RUNTIME_DIR", None)
        if not any(kept.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG")):
            kept["LANG"] = "C.UTF-8"  # tests read the marks of pages
        store = str(self.folder / "runs.db")  # the history of whoever runs the tests stays as it is
        # Most tests need no more of a script than its short cut shows; those that do set VRAMFIT_WITHIN or --within.
        own = {"TMPDIR": str(self.temporary), "OMP_NUM_THREADS": "1", "VRAMFIT_STORE": store, "VRAMFIT_WITHIN": "0"}
        if self.warm:
            own["VRAMFIT_WARM"] = self.warm
        return {**kept, **own, **variables}

    def script(self, text: str, name: str = "train.py") -> Path:
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def call(self, *words: str, timeout: float = 120, **variables: str) -> Finished:
        """vramfit with these words."""
        done = subprocess.run(
            [str(VRAMFIT), *words],
            cwd=self.folder,
            env=self.environment(**variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def read(self, finished: Finished, report: Path) -> Finished:
        """With the result that --json wrote, if any."""
        finished.result = json.loads(report.read_text()) if report.exists() else {}
        return finished

    def run_words(
        self, script: Path, *arguments: str, gpu: str = "rtx3060", options: tuple[str, ...] = ()
    ) -> list[str]:
        report = str(self.folder / "result.json")
        return ["run", "--gpu", gpu, "--json", report, *options, "--", sys.executable, str(script), *arguments]

    def run(
        self,
        text: str | Path,
        *arguments: str,
        gpu: str = "rtx3060",
        options: tuple[str, ...] = (),
        timeout: float = 120,
        **variables: str,
    ) -> Finished:
        """`vramfit run` of a script, given as its text or as a file."""
        script = text if isinstance(text, Path) else self.script(text)
        report = self.folder / "result.json"
        report.unlink(missing_ok=True)
        finished = self.call(
            *self.run_words(script, *arguments, gpu=gpu, options=options), timeout=timeout, **variables
        )
        if report.exists():
            finished.result = json.loads(report.read_text())
        return finished
