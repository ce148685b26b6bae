"""How the test runner lays out sections: which run beside which, and what becomes of each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

# Sections that wait for one another: the one must be running while the other is.
PROBE = """
import json, sys, threading
sys.path.insert(0, sys.argv[1])
from suite.running import run_sections
from suite.section import Outcome, Section
met, left = threading.Event(), threading.Event()
def meets(tier):
    met.set()
    return Outcome(passed=left.wait(30))
def alone(tier):
    seen = met.wait(30)
    left.set()
    return Outcome(passed=seen, failed=len(sys.argv) - 2)
def raises(tier):
    raise RuntimeError("no such thing")
sections = [
    Section("beside", meets, is_unnoticed=True),
    Section("alone", alone, is_required=True),
    Section("raises", raises, shares_machine=True),
    Section("last", lambda tier: Outcome(passed=7)),
]
outcomes = run_sections(sections, "ci")
print(json.dumps([one and [one.passed, one.failed, one.details] for one in outcomes]))
"""


def outcomes_of(root: Path, *words: str) -> list[Any]:
    command = [sys.executable, "-c", PROBE, str(root / "tools"), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_what_nobody_notices_runs_beside_one_that_runs_alone(root: Path) -> None:
    assert outcomes_of(root) == [
        [True, 0, []],
        [True, 0, []],
        [0, 1, ["RuntimeError: no such thing"]],
        [7, 0, []],
    ]


def test_a_required_section_that_fails_ends_the_run_but_not_what_runs_beside_it(root: Path) -> None:
    beside, required, *after = outcomes_of(root, "fails")
    assert beside == [True, 0, []] and required == [True, 1, []]
    assert after == [None, None]
