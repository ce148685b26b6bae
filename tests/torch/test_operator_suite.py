"""Runs test_operators*.py inside a virtual H100, all of them in one process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from card_run import finished, run_on_card

pytestmark = pytest.mark.by_release


def test_every_operator_on_a_virtual_h100() -> None:
    files = sorted(str(path) for path in Path(__file__).resolve().parent.glob("test_operators*.py"))
    options = ("-q", "--no-header", "-p", "no:cacheprovider", "--tb=short")
    command = (sys.executable, "-m", "pytest", *options, *files)
    # Steered tests would begin all of them again.
    run = finished(run_on_card(*command, gpu="h100", options=("--steps", "all", "--values", "zeros"), timeout=900))
    assert " passed" in run.stdout, run.tail()
