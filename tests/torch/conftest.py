"""The operator tests import torch, which needs a virtual card's libraries: outside one they are not collected."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import warm_python

collect_ignore_glob = [] if os.environ.get("VRAMFIT_LEDGER") else ["test_operators*.py"]


@pytest.fixture(scope="module", autouse=True)
def warm_scripts(request: pytest.FixtureRequest) -> Iterator[None]:
    """In a module marked `warm`: its scripts run in forks of a Python that has imported torch (card_run.py)."""
    with pytest.MonkeyPatch.context() as patch:
        if warm_python.is_wanted([mark.name for mark in request.node.iter_markers("warm")]):
            patch.setenv("VRAMFIT_WARM", request.getfixturevalue("shared_python").path)
        yield
