"""Tests that failed beside others run once more, alone: chance or fault?

Real programs, real children and a real browser share two cores here, and now and then one of thousands of tests meets
a moment that its author didn't think of. A few failures in a whole run are tried a second time, one section after the
other, with nothing beside them. What passes then is named in the summary, to be mended; what fails again has failed.
"""

from __future__ import annotations

from .deadline import DEADLINE
from .section import Outcome, Section

MOST = 3  # of one whole run; more than that is no chance


def try_again(sections: list[Section], outcomes: list[Outcome | None]) -> list[Outcome | None]:
    """The outcomes after second tries. Only failures that are tests a section can run by themselves are tried."""
    failed = sum(outcome.failed for outcome in outcomes if outcome is not None)
    if failed > MOST or DEADLINE.is_over:
        return outcomes
    return [
        _again(section, outcome)
        if outcome is not None and section.run_again is not None and 0 < outcome.failed == len(outcome.failed_tests)
        else outcome
        for section, outcome in zip(sections, outcomes, strict=True)
    ]


def _again(section: Section, outcome: Outcome) -> Outcome:
    assert section.run_again is not None
    print(f"== {section.name}, again: {', '.join(outcome.failed_tests)}", flush=True)
    second = section.run_again(outcome.failed_tests)
    for line in second.details:
        print(f"   {line}")
    print(f"-- {section.name}, again: {second}\n", flush=True)
    if second.passed + second.failed != outcome.failed:
        return outcome
    return Outcome(
        passed=outcome.passed + second.passed,
        failed=second.failed,
        skipped=outcome.skipped,
        details=second.details,
        failed_tests=second.failed_tests,
        unsteady_tests=[test for test in outcome.failed_tests if test not in second.failed_tests],
    )
