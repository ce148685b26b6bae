"""A virtual card with a script for its NVML, and vramfit watch on it, as tests call them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from product import STAGE, VRAMFIT, Product

GIB = 1 << 30
LEDGER_TOOL = STAGE.parent / "vramfit_ledger_tool"


@dataclass
class Machine:
    product: Product
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def ledger(self) -> Path:
        return self.product.folder / "ledger"

    @property
    def script_file(self) -> Path:
        return self.product.folder / "nvml_script"

    def create(self, cards: int = 2) -> None:
        words = ["create", str(self.ledger), "--name", "NVIDIA GeForce RTX 3090", "--count", str(cards)]
        subprocess.run([str(LEDGER_TOOL), *words], check=True)

    def script(self, *lines: str) -> None:
        """What the cards do from now on. Replaced as a whole, so that no reader sees half of it."""
        fresh = self.script_file.with_suffix(".new")
        fresh.write_text("\n".join(lines) + "\n")
        fresh.rename(self.script_file)

    def environment(self, **variables: str) -> dict[str, str]:
        given = {"VRAMFIT_LEDGER": str(self.ledger), "VRAMFIT_NVML_SCRIPT": str(self.script_file)}
        return self.product.environment(**{**given, "LANG": "C.UTF-8", **variables})

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(VRAMFIT), "watch", *words],
            cwd=self.product.folder,
            env=self.environment(**variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def look(self) -> dict[str, Any]:
        done = self.run("--once", "--json", "-")
        assert done.stdout, done.stderr
        return dict(json.loads(done.stdout))

    def start(self, *words: str, **variables: str) -> subprocess.Popen[bytes]:
        with open(self.product.folder / "errors", "ab") as errors:
            process = subprocess.Popen(
                [str(VRAMFIT), "watch", *words],
                cwd=self.product.folder,
                env=self.environment(**variables),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        self.started.append(process)
        return process

    @property
    def errors(self) -> str:
        return (self.product.folder / "errors").read_text()
