from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
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


@pytest.fixture
def doctor(product: Product) -> Doctor:
    return Doctor(product)


@pytest.fixture
def by_label() -> Callable[[Finished, str], dict[str, Any] | None]:
    def find(done: Finished, label: str) -> dict[str, Any] | None:
        return next((one for one in done.result["findings"] if one["label"] == label), None)

    return find
