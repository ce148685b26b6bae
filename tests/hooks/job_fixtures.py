"""Fixtures of tests whose jobs are run with the hooks alone, for the conftest.py of each folder that has such tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hooked_job import Job, WarmPython


@pytest.fixture(scope="session")
def warm_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    process = WarmPython(tmp_path_factory.mktemp("warm"))
    yield process
    process.close()


@pytest.fixture
def job(tmp_path: Path, warm_python: WarmPython) -> Job:
    return Job(tmp_path, warm_python)
