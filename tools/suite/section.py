"""What a section of the test run is, and what it comes to."""

from __future__ import annotations

import os
import re
import subprocess
import time
import xml.etree.ElementTree as xml
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

# Why a test may be left out: what a machine lacks that no installation brings, or what a release cannot do. Any other
# skip is a failure: a test that nobody runs says nothing.
ALLOWED_SKIPS = (
    "this machine gives no such layer",
    "this machine gives no layer",
    "this machine has a driver",
    "this machine has no IPv6 loopback",
    "this machine has no Python 3.",
    "pip's settings of this machine allow no torch",
    "this machine can't make an older system",
    "small file systems can't be mounted here",
    "no way to give up the right to mount",
    "its statistics came with 2.9",
    "bitsandbytes is",  # in the environment of one release of torch, or is not: each has tests of its own
    "this release of torch has no such",
    "code has no columns",
    "sys.monitoring has a place for each",
)
_PLACE = re.compile(r"\S+\.cc:\d+")
ROOT = Path(__file__).resolve().parent.parent.parent


class TimeLimit:
    """When the time of a run is up: what may be left out then is, and is told."""

    def __init__(self) -> None:
        self._end: float | None = None
        self.minutes = 0.0

    def start(self, minutes: float) -> None:
        self.minutes, self._end = minutes, time.monotonic() + 60 * minutes

    def is_up(self) -> bool:
        return self._end is not None and time.monotonic() > self._end


TIME_LIMIT = TimeLimit()


@dataclass
class Outcome:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    details: list[str] = field(default_factory=list)
    # Those of `failed` that can run by themselves: pytest's names of them, or "store_test: StoreTest.Ends".
    failed_tests: list[str] = field(default_factory=list)
    unsteady_tests: list[str] = field(default_factory=list)  # failed first, passed when run again
    processor_seconds: float = 0  # of the programs that were run; beside others, what the clock says tells little
    left_out: int = 0  # tests, or whole sections, for which there was no time

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.details + other.details,
            self.failed_tests + other.failed_tests,
            self.unsteady_tests + other.unsteady_tests,
            self.processor_seconds + other.processor_seconds,
            self.left_out + other.left_out,
        )

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        left_out = f", {self.left_out} left out" if self.left_out else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}{left_out}"

    def describe_failures(self, most: int = 12) -> list[str]:
        """A line each; who reads only the end of a long log reads them there. What names none gives its last lines."""
        if not self.failed:
            return []
        named = self.failed_tests + [
            line for line in self.details if line.startswith(("FAILED ", "SKIPPED ")) and "::" not in line
        ]
        lines = named[:most] if named else self.details[-most:]
        return lines + [f"and {len(named) - most} more"] * (len(named) > most)


@dataclass(frozen=True)
class Section:
    name: str
    run: Callable[[str], Outcome]
    tiers: tuple[str, ...] = ("quick", "ci", "all")
    is_required: bool = False  # when it fails, nothing after it can tell anything
    run_again: Callable[[list[str]], Outcome] | None = None  # runs single tests, by the names in `failed_tests`
    shares_machine: bool = False  # may run beside others: it looks at nothing outside its own folders
    may_be_left_out: bool = False  # it runs where time is left: what has been asked otherwise, or of another torch
    is_unnoticed: bool = False  # may run beside any other: nor does it leave anything where one of them looks


@dataclass(frozen=True)
class Done:
    exit_code: int
    printed: str  # both streams
    processor_seconds: float  # its own and those of all children that were waited for


def run_program(command: list[str], environment: dict[str, str] | None = None) -> Done:
    """Runs it in the root of the sources, with nothing to read."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout
    with process.stdout:
        printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # or Popen would wait for it again
    return Done(process.returncode, printed, usage.ru_utime + usage.ru_stime)


def run_git(*words: str, folder: Path = ROOT) -> list[str] | None:
    """Its lines; None: it failed, as where there is no history, or not all of it."""
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else None


def tracked(*patterns: str) -> list[str]:
    """Files git knows or would add, so that a new file is checked before it is committed."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return sorted({name for name in names if (ROOT / name).is_file()})


def run_check(command: list[str], shown_lines: int = 40) -> Outcome:
    """One command as one check: its output is shown only when it fails."""
    done = run_program(command)
    if done.exit_code == 0:
        return Outcome(passed=1, processor_seconds=done.processor_seconds)
    shown = " ".join(command)[:160]
    return Outcome(
        failed=1,
        details=done.printed.splitlines()[-shown_lines:] + [f"exit {done.exit_code}: {shown}"],
        processor_seconds=done.processor_seconds,
    )


def read_junit(paths: list[Path], leave_out: Callable[[xml.Element], bool] = lambda case: False) -> Outcome:
    """Counts test cases of JUnit files as GoogleTest and pytest write them; failures are named."""
    outcome = Outcome()
    for path in paths:
        for case in xml.parse(path).getroot().iter("testcase"):
            if leave_out(case):
                continue
            bad = [child for child in case if child.tag in ("failure", "error")]
            if bad:
                outcome.failed += 1
                if test := _name_of(case, path):
                    outcome.failed_tests.append(test)
                first = (bad[0].get("message") or bad[0].text or "").strip().splitlines()
                outcome.details.append(
                    f"FAILED {case.get('classname')}.{case.get('name')}: {first[0] if first else ''}"
                )
            elif (why := _why_skipped(case)) is not None:
                if why.startswith(ALLOWED_SKIPS):
                    outcome.skipped += 1
                else:
                    outcome.failed += 1
                    outcome.details.append(f"SKIPPED {case.get('classname')}.{case.get('name')}: {why or 'no reason'}")
            else:
                outcome.passed += 1
    return outcome


def _why_skipped(case: xml.Element) -> str | None:
    """None: it ran."""
    skipped = case.find("skipped")
    if skipped is not None:
        lines = (skipped.get("message") or skipped.text or "").strip().splitlines()
        # GoogleTest's first line is the place, "/x/layer_test.cc:62".
        return "\n".join(lines[1:] if len(lines) > 1 and _PLACE.fullmatch(lines[0]) else lines)
    return "it is disabled" if case.get("status") == "notrun" else None


def _name_of(case: xml.Element, report: Path) -> str | None:
    """ "tests.cli.test_run" and "test_it[2]": "tests/cli/test_run.py::test_it[2]". None: nothing runs it by itself."""
    classname, name = case.get("classname") or "", case.get("name") or ""
    file = classname.replace(".", "/") + ".py"
    if name and (ROOT / file).is_file():
        return f"{file}::{name}"
    # GoogleTest's reports have the name of their executable.
    return f"{report.stem}: {classname}.{name}" if case.get("file", "").endswith((".cc", ".h")) else None
