"""Loops that are not counted on, and what is told of rounds that were left out."""

from __future__ import annotations

from counting_job import STEP, counted, opened, run
from hooked_job import Job


def test_tests_that_came_out_both_ways_are_no_reason_to_move(job: Job) -> None:
    finished = run(
        job,
        """
    def train():
        number = 0
        while True:
            train_on(torch.ones(2, 4)); number += 1
            if number % 10 == 0: done.append(number)
    train()
    """,
    )
    assert finished.exit_code == 0, finished.stderr
    assert counted(finished) == []
    assert "budget" in finished.of_kind("cut")[-1]["text"]


def test_without_a_budget_and_in_whole_runs_nothing_is_moved(job: Job) -> None:
    text = STEP + "    for step in range(300): train_on(torch.ones(2, 4))\n    print(json.dumps(step))\n"
    assert job.run(text, steps="all").output() == 299
    assert counted(job.run(text, steps="auto")) == []


def test_a_test_that_cannot_be_computed_is_given_up_alone_and_told(job: Job) -> None:
    finished = run(
        job,
        """
    def decide(number): return number > 4000
    for step in range(5000):
        train_on(torch.ones(2, 4))
        wide = decide(step) == True
        if (step, 1) > (4100, 0): pass
        if step == 3210: done.append(step)
    print(json.dumps(done))
    """,
    )
    assert finished.output() == [3210]
    assert any("`decide(step) == True` turns could not be computed" in text for text in opened(finished))


def test_what_was_left_out_is_told_and_what_is_computed_with_its_number(job: Job) -> None:
    finished = run(
        job,
        """
    for step in range(20_000):
        size = int(2 + step ** 0.25)
        print(f"step {step}", file=__import__("sys").stderr)
        train_on(torch.ones(size, 4))
    """,
    )
    (text,) = opened(finished)
    assert "(`step`) 40 to 19,998 were left out but for a few" in text
    assert "computed with" in text and "size = int(2 + step ** 0.25)" in text


def test_a_loop_that_counts_nothing_is_told_too(job: Job) -> None:
    finished = run(job, "    for rows in [2] * 5000 + [9]: train_on(torch.ones(rows, 4))\n")
    (text,) = opened(finished)
    assert "the loop at " in text and "was ended early" in text
