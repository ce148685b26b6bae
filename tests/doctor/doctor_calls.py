"""`vramfit doctor` as these tests call it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from product import Finished, Product

HERE = Path(__file__).resolve().parent


@dataclass
class Doctor:
    """`vramfit doctor` in a folder of its own, with what --json wrote."""

    product: Product

    def look(self, *words: str, timeout: float = 240, **variables: str) -> Finished:
        report = self.product.folder / "doctor.json"
        report.unlink(missing_ok=True)
        done = self.product.call("doctor", "--json", str(report), *words, timeout=timeout, **variables)
        if report.exists():
            done.result = json.loads(report.read_text())
        return done
