from __future__ import annotations

from pathlib import Path

import pytest
from hooked_job import Job


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)
