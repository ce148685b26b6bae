"""The pytest suites, each in the environments it needs."""

from __future__ import annotations

import os

from . import python_environments
from .section import ROOT, Outcome, Section, read_junit, run_program


def run_pytest(name: str, environment: str, chosen: list[str], tier: str, is_second_release: bool = False) -> Outcome:
    """Runs folders of tests, or tests by their names."""
    interpreter = python_environments.python(environment)
    # A run on virtual cards keeps nothing that Python would write beside our modules: each would compile them again.
    run_program([str(interpreter), "-m", "compileall", "-q", "python/vramfit"])
    report = ROOT / "build" / "dev" / "reports" / f"{name.replace(' ', '-')}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    marks = {"quick": "not slow and not every_version", "ci": "not every_version", "all": ""}[tier]
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
    ]
    variables = dict(os.environ, VRAMFIT_STAGE=str(ROOT / "build" / "dev" / "stage"), PYTHONDONTWRITEBYTECODE="1")
    done = run_program(command + chosen, variables)
    outcome = read_junit([report]) if report.exists() else Outcome()
    outcome.processor_seconds = done.processor_seconds
    if done.exit_code != 0:  # 5: none of its tests was chosen
        outcome.failed = max(outcome.failed, 1)
        outcome.details = done.printed.splitlines()[-80:]
    return outcome


_WANTED: list[tuple[str, tuple[str, ...]]] = []  # the environment of each suite, and the tiers that run it


def suite(
    name: str,
    environment: str,
    folder: str,
    tiers: tuple[str, ...] = ("quick", "ci", "all"),
    is_alone: bool = False,
    is_second_release: bool = False,
) -> Section:
    """`is_second_release`: CI runs of it what differs between releases of torch (marked by_release)."""
    _WANTED.append((environment, tiers))
    return Section(
        name,
        lambda tier: run_pytest(name, environment, [folder], tier, is_second_release),
        tiers=tiers,
        shares_machine=not is_alone,
        run_again=lambda tests: run_pytest(f"{name} again", environment, tests, "all"),
    )


def make_environments(tier: str) -> Outcome:
    """Those of the suites of this tier. Others (tests/programs has gigabytes of them) are made when a test asks."""
    for name in sorted({environment for environment, tiers in _WANTED if tier in tiers}):
        python_environments.python(name)
    return Outcome(passed=1)


# They are downloaded while the compiler works, which needs no network.
ENVIRONMENTS = [Section("environments of Python", make_environments, is_unnoticed=True)]

# The long ones first, so that no lane is left with one of them at the end.
SECTIONS = [
    # It compares all of shared memory and of the temporary folder before and after.
    suite("faults on torch 2.12", "torch-2.12", "tests/faults", tiers=("ci", "all"), is_alone=True),
    # It sees every virtual card of the machine that a job is on.
    suite("files", "torch-2.12", "tests/files", tiers=("ci", "all")),
    suite("watch on torch 2.12", "torch-2.12", "tests/watch", tiers=("ci", "all"), is_alone=True),
    suite("torch 2.12", "torch-2.12", "tests/torch", tiers=("ci", "all")),
    suite("torch 2.6", "torch-2.6", "tests/torch", tiers=("ci", "all"), is_second_release=True),
    suite("every version of torch", "tools", "tests/versions", tiers=("all",)),
    suite("programs that people run", "programs", "tests/programs", tiers=("all",)),
    suite("patches on torch 2.12", "torch-2.12", "tests/patch", tiers=("ci", "all")),
    suite("recomputation on torch 2.12", "solvers", "tests/recompute", tiers=("ci", "all")),
    suite("answers counted again on torch 2.12", "torch-2.12", "tests/verify", tiers=("ci", "all")),
    suite("doctor on torch 2.12", "torch-2.12", "tests/doctor"),
    suite("examples on torch 2.12", "torch-2.12", "tests/examples", tiers=("ci", "all")),
    suite("cases on torch 2.12", "torch-2.12", "tests/cases", tiers=("ci", "all")),
    suite("causes in running scripts on torch 2.12", "torch-2.12", "tests/diagnose", tiers=("ci", "all")),
    suite("causes in running scripts on torch 2.6", "torch-2.6", "tests/diagnose", tiers=("all",)),
    suite("sweeps on torch 2.12", "torch-2.12", "tests/sweep", tiers=("ci", "all")),
    suite("command line on torch 2.12", "torch-2.12", "tests/cli"),
    suite("command line on torch 2.6", "torch-2.6", "tests/cli", tiers=("all",)),
    suite("estimates on torch 2.12", "torch-2.12", "tests/estimate", tiers=("ci",)),
    suite("estimates and adapters", "programs", "tests/estimate", tiers=("all",)),
    suite("project tests", "tools", "tests/project"),
    suite("allocator on torch 2.12", "torch-2.12", "tests/allocator"),
    suite("allocator on torch 2.6", "torch-2.6", "tests/allocator", tiers=("ci", "all")),
    suite("report in a browser", "tools", "tests/report", tiers=("ci", "all")),
    suite("check on torch 2.12", "torch-2.12", "tests/check", tiers=("ci", "all")),
    suite("check on torch 2.6", "torch-2.6", "tests/check", tiers=("all",)),
    suite("init on torch 2.12", "torch-2.12", "tests/init"),
    suite("notebook magic", "readers", "tests/jupyter", tiers=("ci", "all")),
    suite("exports", "readers", "tests/export", tiers=("ci", "all")),
    suite("local page on torch 2.12", "torch-2.12", "tests/serve", tiers=("ci", "all")),
    suite("modules on torch 2.12", "torch-2.12", "tests/modules", tiers=("ci", "all")),
    suite("modules on torch 2.6", "torch-2.6", "tests/modules", tiers=("all",)),
    suite("hooks on torch 2.12", "torch-2.12", "tests/hooks"),
    suite("hooks on torch 2.6", "torch-2.6", "tests/hooks", tiers=("ci", "all"), is_second_release=True),
    suite("pruned networks on torch 2.12", "pruning", "tests/pruning", tiers=("ci", "all")),
    suite("habits of training loops on torch 2.12", "torch-2.12", "tests/habits", tiers=("ci", "all")),
    suite("habits of training loops on torch 2.6", "torch-2.6", "tests/habits", tiers=("all",)),
    suite("wheel on torch 2.12", "torch-2.12", "tests/wheel", tiers=("ci", "all")),
    suite("snapshots", "tools", "tests/snapshots", tiers=("ci", "all")),
]
