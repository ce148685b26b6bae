"""How the test runner lays out sections: which run beside which, and what becomes of each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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


LATE = """
import sys
sys.path.insert(0, sys.argv[1])
from suite.running import run_sections
from suite.section import TIME_LIMIT, Outcome, Section
TIME_LIMIT.start(float(sys.argv[2]))
def passes(tier):
    return Outcome(passed=1)
sections = [Section("needed", passes, shares_machine=True),
            Section("again", passes, shares_machine=True, may_be_left_out=True)]
print(*run_sections(sections, "ci"), sep="; ")
"""


@pytest.mark.parametrize(
    ("minutes", "last"),
    [
        ("60", ["1 passed, 0 failed; 1 passed, 0 failed"]),
        ("-1", ["== again: left out, for -1 minutes were up", "1 passed, 0 failed; 0 passed, 0 failed, 1 left out"]),
    ],
)
def test_what_may_be_left_out_is_told_to_be_where_the_time_is_up(root: Path, minutes: str, last: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", LATE, str(root / "tools"), minutes], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line for line in last if line not in done.stdout.splitlines()] == []
    assert ("left out" in done.stdout) == (len(last) == 2)


def test_suites_that_may_be_left_out_come_last_and_those_of_another_release_behind_them(root: Path) -> None:
    words = "import sys; sys.path.insert(0, sys.argv[1]); from suite.python_tests import SECTIONS; "
    words += "print(*(f'{one.name}={one.may_be_left_out}' for one in SECTIONS if 'ci' in one.tiers), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", words, str(root / "tools")], capture_output=True, text=True)
    told = [line.rpartition("=")[::2] for line in done.stdout.splitlines()]
    late = [name for name, left_out in told if left_out == "True"]
    assert late and [name for name, _ in told[-len(late) :]] == late
    of_others = [name for name in late if name.endswith("torch 2.6")]
    assert len(of_others) > 2 and late[-len(of_others) :] == of_others
    # What has once been wrong for users never is.
    needed = [name for name, left_out in told if left_out == "False"]
    assert {"files", "torch 2.12", "command line on torch 2.12", "hooks on torch 2.12", "project tests"} <= set(needed)


GOES_ON = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from suite import kept, running
from suite.section import Outcome, Section
kept.ROOT = Path(sys.argv[2])
ran = []
def section(name, failed=0):
    return Section(name, lambda tier: ran.append(name) or Outcome(passed=2, failed=failed), shares_machine=True)
sections = [section("good"), section("bad", 1)]
running.run_sections(sections, "all", kept.Kept("all", False))
outcomes = running.run_sections(sections, "all", kept.Kept("all", True))
mended = running.run_sections([section("good"), section("bad")], "all", kept.Kept("all", True))
print(*ran, outcomes[0].passed, outcomes[1].failed, len(mended[1].unsteady_tests))
"""


def test_a_run_that_was_stopped_is_gone_on_with_at_the_same_commit(root: Path, tmp_path: Path) -> None:
    def git(*words: str) -> None:
        author = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", "-C", tmp_path, *author, *words], check=True, capture_output=True)

    def ran() -> list[str]:
        command = [sys.executable, "-c", GOES_ON, str(root / "tools"), str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[-1].split()

    git("init", "-q")
    (tmp_path / ".gitignore").write_text("build\n")
    git("add", ".")
    git("commit", "-qm", "one")
    # What failed at first and passes when the run goes on is listed.
    assert sorted(ran()) == sorted(["good", "bad", "bad", "bad", "2", "1", "1"])
    (tmp_path / "changed").write_text("")
    assert sorted(ran()) == sorted(["good", "bad", "good", "bad", "good", "bad", "2", "1", "0"])


TOO_LONG = """
import sys, time
sys.path.insert(0, sys.argv[1])
from suite.deadline import DEADLINE
from suite.running import run_sections
from suite.section import Section, run_check
def runs_on(tier):
    stubborn = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(99)"
    patient = "import time; time.sleep(98)"
    return run_check([sys.executable, "-c", stubborn]) + run_check([sys.executable, "-c", patient])
def tests(tier):
    return run_check([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", sys.argv[2]])
DEADLINE.start(float(sys.argv[3]))
began = time.monotonic()
outcomes = run_sections([Section("tests", tests, shares_machine=True), Section("program", runs_on, is_unnoticed=True),
                         Section("alone", runs_on), Section("late", runs_on)], "ci")
DEADLINE.end()
print(*(f"{one.failed} failed: {one.details}" for one in outcomes), sep="\\n")
"""


def test_a_run_that_takes_too_long_ends_itself_and_says_what_it_waited_for(root: Path, tmp_path: Path) -> None:
    waiting = tmp_path / "test_waiting.py"
    waiting.write_text("import time\n\n\ndef test_it():\n    time.sleep(97)\n")
    command = [sys.executable, "-c", TOO_LONG, str(root / "tools"), str(waiting), "0.15"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    *_, tests, program, alone, late = done.stdout.splitlines()
    assert "== 0.15 minutes are up, and all that runs is ended:" in done.stdout
    assert f"-m pytest -q -p no:cacheprovider {waiting}" in done.stdout and "time.sleep(99)" in done.stdout
    assert tests.startswith("1 failed") and "test_waiting.py:5: KeyboardInterrupt" in tests
    assert program.startswith("2 failed") and alone.startswith("1 failed")
    assert late == "1 failed: ['it was not begun when 0.15 minutes were up']"
