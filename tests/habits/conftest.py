from __future__ import annotations

from collections.abc import Iterator

import outcomes
import pytest
from hooked_job import Job, WarmPython


@pytest.fixture(scope="session")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    folder = tmp_path_factory.mktemp("habits")
    process = WarmPython(folder)
    yield Job(folder, process)
    process.close()


@pytest.fixture(scope="session")
def plain_runs() -> dict[str, outcomes.Finished]:
    """Habits as they train without any technique, by name."""
    return {}
