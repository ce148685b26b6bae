"""The table of docs/cases.md: its commands are run again, and print what stands there but for the numbers."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from product import ROOT, VRAMFIT

PAGE = ROOT / "docs" / "cases.md"
ASKED = {f"S{number}" for number in range(1, 14)}  # what is to be seen
WHOLE = {f"C{number}" for number in range(1, 7)}  # cases from the first run to the answer
REMEDIES = {f"R{number}" for number in range(1, 26)}


def check(*words: str) -> subprocess.CompletedProcess[str]:
    tool = [sys.executable, str(ROOT / "tools" / "refresh_cases"), "--check", *words]
    own = {**os.environ, "VRAMFIT": str(VRAMFIT), "PYTHON": sys.executable}
    return subprocess.run(tool, capture_output=True, text=True, timeout=3000, env=own)


def test_everything_that_is_asked_has_a_row() -> None:
    rows = PAGE.read_text(encoding="utf-8").splitlines()
    assert {found[1] for row in rows if (found := re.match(r"\| ([SCR]\d+) \|", row))} == ASKED | WHOLE | REMEDIES


def test_a_leak_is_shown_as_the_page_says() -> None:
    done = check("S4")
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]


@pytest.mark.slow
def test_a_remedy_of_each_kind_prints_what_the_page_says() -> None:
    """Batches, modules that run again, evaluations whole and in tiles, the allocator."""
    done = check("R2", "R5", "R10", "R14", "R24")
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]


@pytest.mark.long
def test_every_command_prints_what_the_page_says() -> None:
    done = check()
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
