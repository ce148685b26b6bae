"""Building, the C++ unit tests, and the same under the sanitizers."""

from __future__ import annotations

import os
import shutil
import xml.etree.ElementTree as xml
from pathlib import Path

from .section import ROOT, Outcome, Section, read_junit, run_check, run_program


def available_gib() -> float:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) / 2**20


def count_jobs() -> int:
    """One compiler per core, but no more than one per 1.5 GiB of free memory."""
    return max(1, min(len(os.sched_getaffinity(0)), int(available_gib() / 1.5)))


def count_lanes() -> int:
    """How many sections run at once: each has a whole PyTorch in memory, at times several."""
    return max(1, min(4, len(os.sched_getaffinity(0)), int(available_gib() / 5)))


def build(preset: str, targets: tuple[str, ...] = (), is_beside: bool = False) -> Outcome:
    """`is_beside` others: it takes what they leave of the processor, and a second compiler only where a core is free.

    A folder that is made here compiles in batches (docs/build.md); one that a developer made stays as it is."""
    configured = Outcome()
    if not (ROOT / "build" / preset / "build.ninja").exists():
        configured = run_check(["cmake", "--preset", preset, "-DVRAMFIT_BATCHES=ON"])
        if configured.failed:
            return configured
    chosen = [argument for target in targets for argument in ("--target", target)]
    command = ["cmake", "--build", f"build/{preset}", "--parallel", str(count_jobs()), *chosen]
    beside = ["nice", *command, "--", "-l", str(len(os.sched_getaffinity(0)))]
    return run_check(beside if is_beside else command)


# Seconds of the clock after which a test program hangs: many times what the slowest needs beside other work.
LONGEST = "600"


def run_unit_tests(
    preset: str,
    label: str | None = None,
    without: str | None = None,
    names: str | None = None,
    case: str = "*",
) -> Outcome:
    """ctest runs the executables; GoogleTest's write their cases as XML, so that cases are counted."""
    reports = ROOT / "build" / preset / "reports" / "unit"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    environment = dict(os.environ, GTEST_OUTPUT=f"xml:{reports}/", GTEST_COLOR="no", GTEST_FILTER=case)
    command = ["ctest", "--test-dir", f"build/{preset}", "--parallel", str(count_jobs()), "--output-on-failure"]
    summary = reports.parent / "ctest.xml"
    summary.unlink(missing_ok=True)
    command += ["--no-tests=error", "--timeout", LONGEST, "--output-junit", str(summary)]
    command += ["-L", label] if label else []
    command += ["-LE", without] if without else []
    command += ["-R", names] if names else []
    done = run_program(command, environment)
    by_program = {path.stem: read_junit([path]) for path in sorted(reports.glob("*.xml"))}
    outcome = sum(by_program.values(), Outcome())

    def is_told(program: xml.Element) -> bool:
        """Its cases say what ctest says of it. They do not where it failed and none of them did: crashes, leaks."""
        cases = by_program.get(program.get("name", ""))
        return cases is not None and (cases.failed > 0 or program.find("failure") is None)

    if summary.exists():
        outcome += read_junit([summary], leave_out=is_told)
    outcome.processor_seconds = done.processor_seconds
    if done.exit_code and not outcome.failed:
        outcome.failed += 1
        outcome.details += done.printed.splitlines()[-60:]
    return outcome


# What runs threads of its own or is loaded into processes that do: the targets of its tests, and their labels.
THREADED = ("base_test", "store_test", "http_test", "virtual_gpu_tests", "recorder_tests")
THREADED_LABELS = "virtual_gpu|recorder|threads"


def run_unit_tests_again(preset: str, tests: list[str]) -> Outcome:
    """Those of one run, by the names in `failed_tests`."""
    total = Outcome()
    for test in tests:
        program, case = test.split(": ")
        total += run_unit_tests(preset, names=f"^{program}$", case=case)
    return total


def run_sanitized(preset: str, targets: tuple[str, ...], label: str | None = None) -> Outcome:
    """Builds with one compiler beside the tests of Python, and with as many as there are cores once those are done."""
    built = build(preset, targets, is_beside=True)
    return built if built.failed else built + run_unit_tests(preset, label=label)


def run_quick_tests(_tier: str) -> Outcome:
    built = build("dev", ("tests",))
    return built if built.failed else built + run_unit_tests("dev", without="slow")


SECTIONS = [
    Section("build", lambda tier: build("dev"), is_required=True),
    # The whole run has the same tests under the sanitizers, which see more.
    Section("unit tests", run_quick_tests, tiers=("quick",)),
]

# They run beside the tests of Python, the second list before the fuzzers, which need least where time is short.
SANITIZED = [
    # They call the stand-ins as they are shipped.
    Section(
        "exports and outputs of the stand-ins",
        lambda tier: run_unit_tests("dev", names="^(exports|outputs)"),
        tiers=("ci", "all"),
        is_unnoticed=True,
    ),
    Section(
        "unit tests under the address and undefined-behaviour sanitizers",
        lambda tier: run_sanitized("asan", ("tests",)),
        tiers=("ci", "all"),
        run_again=lambda tests: run_unit_tests_again("asan", tests),
        is_unnoticed=True,
    ),
]
THREADED_SANITIZED = [
    Section(
        "threaded unit tests under the thread sanitizer",
        lambda tier: run_sanitized("tsan", THREADED, THREADED_LABELS),
        tiers=("ci", "all"),
        run_again=lambda tests: run_unit_tests_again("tsan", tests),
        is_unnoticed=True,
    ),
]
