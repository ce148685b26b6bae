"""The pytest suites, each in the environments it needs."""

from __future__ import annotations

import json
import os
import re

from . import python_environments
from .section import ROOT, Outcome, Section, read_junit, run_program

# Seconds of the clock for each suite of --quick, two of which run at once. What they can't do in that is left out, and
# told.
TIME_BOX = 25
MARKS = {"quick": "not slow and not long and not every_version", "ci": "not long and not every_version", "all": ""}


def run_pytest(name: str, environment: str, chosen: list[str], tier: str, is_second_release: bool = False) -> Outcome:
    """Runs folders of tests, or tests by their names."""
    interpreter = python_environments.python(environment)
    # A run on virtual cards keeps nothing that Python would write beside our modules: each would compile them again.
    run_program([str(interpreter), "-m", "compileall", "-q", "python/vramfit"])
    report = ROOT / "build" / "dev" / "reports" / f"{name.replace(' ', '-')}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    marks = MARKS[tier]
    if tier == "ci" and is_second_release:
        marks += " and by_release"
    command = [
        str(interpreter),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--color=no",
        f"--junitxml={report}",
        "-m",
        marks,
        *([f"--time-box={TIME_BOX}"] if tier == "quick" else []),
    ]
    variables = dict(os.environ, VRAMFIT_STAGE=str(ROOT / "build" / "dev" / "stage"), PYTHONDONTWRITEBYTECODE="1")
    # Two threads that wait for each other in turns, beside other tests, take ten times as long as one.
    variables.setdefault("OMP_NUM_THREADS", "1")
    variables.pop("PYTEST_ADDOPTS", None)  # what somebody has there for their own tests chooses none of these
    done = run_program(command + chosen, variables)
    outcome = read_junit([report]) if report.exists() else Outcome()
    outcome.processor_seconds = done.processor_seconds
    time_was_up = re.search(r"^the time was up: (\d+) tests", done.printed, re.MULTILINE)
    outcome.left_out = int(time_was_up[1]) if time_was_up else 0
    if done.exit_code != 0:
        # 1: tests failed. Anything else (2: interrupted, 3: an error of pytest's own, 5: none was chosen) may have left
        # tests out, and is not made up for by trying again those that failed.
        outcome.failed = max(outcome.failed, 1) if done.exit_code == 1 else outcome.failed + 1
        outcome.details = done.printed.splitlines()[-80:]
    elif not outcome.passed and not outcome.failed:
        outcome.failed = 1
        outcome.details = [f"none of the tests of {', '.join(chosen)} ran"]
    return outcome


def releases() -> list[str]:
    """Those of torch that are tested throughout ("2.12"), the newest first: platforms.json names them."""
    known = json.loads((ROOT / "platforms.json").read_text(encoding="utf-8"))["torch"]
    return [".".join(row["version"].split(".")[:2]) for row in known if row["tested"] == "throughout"]


_NEWEST, *_OTHERS = releases()


def is_of_other_release(environment: str) -> bool:
    return environment in {f"torch-{release}" for release in _OTHERS}


_WANTED: list[tuple[str, tuple[str, ...]]] = []  # the environment of each suite, and the tiers that run it


def suite(
    name: str,
    environment: str,
    folder: str,
    tiers: tuple[str, ...] = ("quick", "ci", "all"),
    is_alone: bool = False,
    is_second_release: bool = False,
    is_later: bool = False,
) -> Section:
    """`is_second_release`: CI runs of it what differs between releases of torch (marked by_release). `is_later`: it
    asks of another side what others ask too, and is what a machine that is slow leaves out."""
    _WANTED.append((environment, tiers))
    return Section(
        name,
        lambda tier: run_pytest(name, environment, [folder], tier, is_second_release),
        tiers=tiers,
        shares_machine=not is_alone,
        may_be_left_out=is_later or is_of_other_release(environment),
        run_again=lambda tests: run_pytest(f"{name} again", environment, tests, "all"),
    )


def make_environments(tier: str) -> Outcome:
    """Those of the suites of this tier. Others (tests/programs has gigabytes of them) are made when a test asks."""
    for name in sorted({environment for environment, tiers in _WANTED if tier in tiers}):
        python_environments.python(name)
    return Outcome(passed=1)


# They are downloaded while the compiler works, which needs no network.
ENVIRONMENTS = [Section("environments of Python", make_environments, is_unnoticed=True)]


_CI, _ALL = ("ci", "all"), ("all",)
_EVERY = ("quick", "ci", "all")


def on_newest(
    name: str,
    folder: str,
    tiers: tuple[str, ...] = _CI,
    environment: str | None = None,
    is_alone: bool = False,
    is_later: bool = False,
) -> Section:
    return suite(
        f"{name} on torch {_NEWEST}",
        environment or f"torch-{_NEWEST}",
        folder,
        tiers=tiers,
        is_alone=is_alone,
        is_later=is_later,
    )


def by_release(
    name: str,
    folder: str,
    newest: tuple[str, ...],
    others: tuple[str, ...],
    is_by_mark: bool,
    is_later: bool = False,
) -> list[Section]:
    """A suite on the newest release, in its tiers, and on each of the others in theirs. `is_by_mark`: see `suite`."""
    return [on_newest(name, folder, tiers=newest, is_later=is_later)] + [
        suite(f"{name} on torch {other}", f"torch-{other}", folder, tiers=others, is_second_release=is_by_mark)
        for other in _OTHERS
    ]


# The long ones first, so that no lane is left with one of them at the end.
_SUITES = [
    # It compares all of shared memory and of the temporary folder before and after.
    on_newest("faults", "tests/faults", is_alone=True),
    # It sees every virtual card of the machine that a job is on.
    suite("files", f"torch-{_NEWEST}", "tests/files", tiers=_CI),
    on_newest("watch", "tests/watch", is_alone=True),
    suite(f"torch {_NEWEST}", f"torch-{_NEWEST}", "tests/torch", tiers=_CI),
    *(suite(f"torch {other}", f"torch-{other}", "tests/torch", tiers=_CI, is_second_release=True) for other in _OTHERS),
    suite("every version of torch", "tools", "tests/versions", tiers=_ALL),
    suite("programs that people run", "programs", "tests/programs", tiers=_ALL),
    on_newest("patches", "tests/patch", is_later=True),
    on_newest("recomputation", "tests/recompute", environment="solvers", is_later=True),
    on_newest("answers counted again", "tests/verify", is_later=True),
    *by_release("hooks", "tests/hooks", _EVERY, _CI, is_by_mark=True),
    on_newest("doctor", "tests/doctor", tiers=_EVERY),
    on_newest("examples", "tests/examples", is_later=True),
    on_newest("cases", "tests/cases", is_later=True),
    *by_release("causes in running scripts", "tests/diagnose", _CI, _ALL, is_by_mark=False),
    on_newest("sweeps", "tests/sweep", is_later=True),
    *by_release("command line", "tests/cli", _EVERY, _ALL, is_by_mark=False),
    on_newest("estimates", "tests/estimate", tiers=("ci",), is_later=True),
    suite("estimates and adapters", "programs", "tests/estimate", tiers=_ALL),
    suite("project tests", "tools", "tests/project"),
    *by_release("allocator", "tests/allocator", _EVERY, _CI, is_by_mark=False),
    suite("report in a browser", "tools", "tests/report", tiers=_CI, is_later=True),
    *by_release("check", "tests/check", _CI, _ALL, is_by_mark=False, is_later=True),
    on_newest("init", "tests/init", tiers=_EVERY),
    suite("notebook magic", "readers", "tests/jupyter", tiers=_CI, is_later=True),
    suite("exports", "readers", "tests/export", tiers=_CI, is_later=True),
    on_newest("local page", "tests/serve", is_later=True),
    *by_release("modules", "tests/modules", _CI, _ALL, is_by_mark=False, is_later=True),
    on_newest("pruned networks", "tests/pruning", environment="pruning", is_later=True),
    *by_release("habits of training loops", "tests/habits", _CI, _ALL, is_by_mark=False, is_later=True),
    suite("snapshots", "tools", "tests/snapshots", tiers=_CI),
    on_newest("wheel", "tests/wheel", is_later=True),  # it compiles everything by another compiler
]
# And last what may be left out, other releases behind all else.
_OF_OTHERS = tuple(f"torch {release}" for release in _OTHERS)
SECTIONS = sorted(_SUITES, key=lambda section: (section.name.endswith(_OF_OTHERS), section.may_be_left_out))
