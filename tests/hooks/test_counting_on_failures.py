"""Errors of jobs whose loops were counted on: the script's own, and those that the moves cause."""

from __future__ import annotations

import pytest
from counting_job import opened, run
from hooked_job import Job


def test_a_script_that_fails_for_it_was_ended_early(job: Job) -> None:
    finished = run(
        job,
        """
    seen = []
    for step in range(5000):
        train_on(torch.ones(2, 4)); seen.append(step)
        if step == 900: raise ValueError(f"only {len(seen)} of {step} were seen")
    """,
    )
    assert finished.exit_code == 0, finished.stderr
    assert finished.of_kind("error") == []
    assert "Traceback" in finished.stderr and "only 41 of 900" in finished.stderr  # it may be its own
    assert any("ValueError: only 41 of 900 were seen (" in text for text in opened(finished))
    assert "ValueError: only 41 of 900" in next(n["text"] for n in finished.of_kind("cut") if n["what"] == "stopped")


def test_a_failure_before_anything_was_moved_is_the_scripts_own(job: Job) -> None:
    finished = run(
        job,
        """
    for step in range(5000):
        train_on(torch.ones(2, 4))
        if step == 20: raise ValueError("its own")
    """,
    )
    assert finished.exit_code == 1
    assert finished.only("error")["type"] == "ValueError"


def test_an_error_that_no_number_causes_is_the_scripts_own(job: Job) -> None:
    finished = run(
        job,
        """
    for step in range(5000):
        train_on(torch.ones(2, 4))
        if step == 4000: print(schedule.last)
    """,
        VRAMFIT_COVERAGE="1",
    )
    assert finished.exit_code == 1
    assert finished.only("error")["type"] == "NameError"
    assert "name 'schedule' is not defined" in finished.stderr


@pytest.mark.parametrize("lines", ["1", "seen"])
def test_a_name_that_was_to_be_bound_in_what_was_left_out_is_no_error_of_its_own(job: Job, lines: str) -> None:
    finished = run(
        job,
        """
    import math
    for step in range(5000):
        train_on(torch.ones(2, 4))
        if math.sqrt(step) == 50.0: best = step
        if step == 4000: print(best)
    """,
        VRAMFIT_COVERAGE=lines,
    )
    assert finished.exit_code == 0
    assert any("NameError" in text for text in opened(finished))
    assert bool(finished.of_kind("coverage")) == (lines == "1"), (
        "lines are watched, and told where somebody reads of them"
    )


def test_lines_after_an_error_that_ended_a_counted_run_are_unreached(job: Job) -> None:
    finished = run(
        job,
        """
    seen = []
    for step in range(5000):
        train_on(torch.ones(2, 4)); seen.append(step)
        assert len(seen) == step + 1
    model(torch.ones(4096, 4))
    """,
        VRAMFIT_COVERAGE="1",
    )
    (gap,) = finished.only("coverage")["unreached"]
    assert gap["code"] == "model(torch.ones(4096, 4))" and gap["card"] == "yes"


def test_an_error_that_the_script_handles_only_after_a_move_is_told(job: Job) -> None:
    finished = run(
        job,
        """
    losses = []
    for step in range(5000):
        try:
            train_on(torch.ones(2, 4)); losses.append(step); losses[step]
        except IndexError:
            done.append(step)
        try: int("x")
        except ValueError: pass
    print(json.dumps(len(done)))
    """,
        VRAMFIT_COVERAGE="1",
    )
    assert finished.output() > 0
    (told,) = [text for text in opened(finished) if "handled errors" in text]
    assert told.count("script.py:") <= 2 or told.count(".py:") <= 2
