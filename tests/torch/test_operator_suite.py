"""Runs test_operators*.py inside a virtual H100, all of them in one process."""

from __future__ import annotations

import sys
from pathlib import Path

from card_run import ROOT, finished, run_on_card

sys.path.insert(0, str(ROOT / "tools"))
from suite.section import read_junit


def test_every_operator_on_a_virtual_h100(tmp_path: Path) -> None:
    files = sorted(str(path) for path in Path(__file__).resolve().parent.glob("test_operators*.py"))
    report = tmp_path / "operators.xml"
    options = ("-q", "--no-header", "-p", "no:cacheprovider", "--tb=short", f"--junitxml={report}")
    command = (sys.executable, "-m", "pytest", *options, *files)
    # Steered tests would begin all of them again. The report is read here, so it is written to the real folder.
    how = ("--steps", "all", "--values", "zeros", "--files", "shared")
    finished(run_on_card(*command, gpu="h100", options=how, timeout=900))
    outcome = read_junit([report])
    assert outcome.passed and not outcome.failed, outcome.details
