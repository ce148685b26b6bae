"""Counting on: past the budget, loops are moved on to what their tests say they have not done yet."""

from __future__ import annotations

from typing import Any

import pytest
from hooked_job import Finished, Job

STEP = """
    import json, torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    def train_on(x):
        optimizer.zero_grad(); model(x).sum().backward(); optimizer.step()
    def loader(batches):
        return DataLoader(TensorDataset(torch.ones(4 * batches, 4)), 4, shuffle=True)
    done = []
"""


def run(job: Job, text: str, within: str = "40n", **extra: Any) -> Finished:
    finished = job.run(STEP + text, steps="auto", VRAMFIT_RUN_ON=within, **extra)
    assert finished.of_kind("hook_failed") == []
    return finished


def counted(finished: Finished) -> list[str]:
    return [note["text"] for note in finished.of_kind("cut") if note["what"] == "counted"]


def test_a_range_is_moved_to_where_its_tests_turn_and_to_its_end(job: Job) -> None:
    finished = run(
        job,
        """
    for step in range(100_000):
        done.append(step)
        train_on(torch.ones(64 if step < 700 else 256, 4))
        if step % 1000 == 999: done.append("evaluated")
    print(json.dumps(done[39:]))
    """,
    )
    reached = finished.output()
    assert reached[:2] == [39, 700]
    assert reached[reached.index(999) + 1] == "evaluated"
    assert reached[-3:] == [99_998, 99_999, "evaluated"]
    (told,) = counted(finished)
    assert told.startswith("`step` was counted on from 39 to 700, 999, ") and "99,998" in told


def test_a_range_under_tqdm_is_moved_and_so_is_one_of_epochs(job: Job) -> None:
    pytest.importorskip("tqdm")
    finished = run(
        job,
        """
    from tqdm import tqdm
    batches = loader(10)
    def fit(epochs):
        for epoch in tqdm(range(epochs), disable=True):
            for (x,) in batches:
                train_on(x)
            done.append(epoch)
            if epoch == 150: done.append("unfrozen")
    fit(300)
    print(json.dumps(done[4:]))
    """,
    )
    reached = finished.output()
    assert reached[reached.index(150) + 1] == "unfrozen"
    assert reached[-2:] == [298, 299]
    assert len(reached) < 20


@pytest.mark.parametrize(
    ("begin", "count", "read"),
    [
        ("step = 0", "step += 1", "step"),
        ("step = 0", "step = step + 1", "step"),
        ("state = {'step': 0}", "state['step'] += 1", "state['step']"),
        ("class Of: step = 0\n    state = Of()", "state.step += 1", "state.step"),
    ],
)
def test_a_variable_that_counts_is_moved(job: Job, begin: str, count: str, read: str) -> None:
    finished = run(
        job,
        f"""
    {begin}
    def train():
        global step
        while {read} < 5000:
            train_on(torch.ones(2, 4))
            {count}
            done.append({read})
            if {read} % 400 == 0: done.append("evaluated")
    train()
    print(json.dumps(done[39:]))
    """,
    )
    reached = finished.output()
    assert reached[:3] == [400, "evaluated", 401]  # as its tests would see it
    assert max(value for value in reached if value != "evaluated") >= 4999
    assert len(reached) < 30


def test_a_local_variable_is_moved(job: Job) -> None:
    finished = run(
        job,
        """
    def train(steps):
        step, kept = 0, torch.ones(3)
        while True:
            train_on(torch.ones(2, 4))
            step += 1
            if step >= 700: done.append("late")
            if step >= steps: break
        return step, kept.sum().item()
    print(json.dumps([train(9000), done]))
    """,
    )
    (step, kept), done = finished.output()
    assert step >= 9000 and kept == 3.0 and done


def test_the_number_that_enumerate_gives_is_moved_within_a_pass(job: Job) -> None:
    finished = run(
        job,
        """
    for epoch in range(2):
        for i, (x,) in enumerate(loader(3000)):
            train_on(x)
            if i % 500 == 499: done.append([epoch, i])
    print(json.dumps(done))
    """,
    )
    assert finished.output() == [[0, 499]]
    assert "`i` was counted on from " in counted(finished)[0]


def test_what_a_function_is_given_counts_too(job: Job) -> None:
    finished = run(
        job,
        """
    def unfreeze(at): done.append(at >= 321)
    def train_step(number):
        train_on(torch.ones(2, 4)); unfreeze(number)
    for step in range(1000): train_step(step)
    print(json.dumps([sum(done), len(done)]))
    """,
    )
    late, steps = finished.output()
    assert 2 < late < steps < 60
    assert "321" in counted(finished)[0]


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
    assert "Traceback" not in finished.stderr
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


def test_nothing_that_a_loop_names_is_kept_alive(job: Job) -> None:
    finished = run(
        job,
        """
    import weakref
    def train():
        number, alive = 0, []
        while number < 3000:
            x = torch.ones(2, 4); alive.append(weakref.ref(x))
            train_on(x); number += 1
            del x
            done.append(sum(each() is not None for each in alive))
    train()
    print(json.dumps(done))
    """,
    )
    assert set(finished.output()) == {0}


def test_without_a_budget_and_in_whole_runs_nothing_is_moved(job: Job) -> None:
    text = STEP + "    for step in range(300): train_on(torch.ones(2, 4))\n    print(json.dumps(step))\n"
    assert job.run(text, steps="all").output() == 299
    assert counted(job.run(text, steps="auto")) == []
