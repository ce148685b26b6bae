"""What the runner of all sections counts as passed, failed and skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RUNNER_PROBE = """
import sys
sys.path.insert(0, {tools!r})
from suite.section import read_junit, run_check
from pathlib import Path
print(read_junit([Path({report!r})]))
print(run_check(["false"]), run_check(["true"]))
print(*read_junit([Path({report!r})]).describe_failures(most=2), sep="\\n")
print(*run_check(["bash", "-c", "echo that is wrong; exit 3"]).describe_failures(), sep="\\n")
"""


def test_the_runner_counts_failures_errors_and_skips(root: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="a" name="good"/>'
        '<testcase classname="a" name="bad"><failure message="boom"/></testcase>'
        '<testcase classname="a" name="broken"><error message="no fixture"/></testcase>'
        '<testcase classname="a" name="later"><skipped message="this machine gives no layer"/></testcase>'
        '<testcase classname="g" name="c"><skipped message="/a_test.cc:6&#10;this machine gives no layer"/></testcase>'
        '<testcase classname="g" name="d"><skipped message="/x/a_test.cc:62&#10;this machine is tired"/></testcase>'
        '<testcase classname="a" name="lazy"><skipped message="torch is not installed"/></testcase>'
        '<testcase classname="a" name="off" status="notrun"/></testsuite></testsuites>'
    )
    probe = RUNNER_PROBE.format(tools=str(root / "tools"), report=str(report))
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, env=dict(os.environ))
    assert done.stdout.splitlines() == [
        "1 passed, 5 failed, 2 skipped",
        "0 passed, 1 failed 1 passed, 0 failed",
        "FAILED a.bad: boom",
        "FAILED a.broken: no fixture",
        "and 3 more",
        "that is wrong",
        "exit 3: bash -c echo that is wrong; exit 3",
    ], done.stderr
