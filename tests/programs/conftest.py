"""What the runs of programs came to, written for tools/refresh_tried."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

OUTCOMES: list[dict[str, object]] = []


@pytest.fixture
def outcomes() -> list[dict[str, object]]:
    return OUTCOMES


@pytest.fixture(scope="session", autouse=True)
def written_outcomes() -> Iterator[None]:
    """Into the file that VRAMFIT_TRIED names, if any."""
    yield
    if path := os.environ.get("VRAMFIT_TRIED"):
        Path(path).write_text(json.dumps(OUTCOMES, indent=1))
