"""What needs torch-pruning, in an environment that has it (tests/requirements/pruning.txt)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "hooks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "patch"))
from hooked_job import Job, WarmPython


@pytest.fixture(scope="session")
def warm_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    process = WarmPython(tmp_path_factory.mktemp("warm"))
    yield process
    process.close()


@pytest.fixture
def job(tmp_path: Path, warm_python: WarmPython) -> Job:
    return Job(tmp_path, warm_python)
