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


def opened(finished: Finished) -> list[str]:
    return [note["text"] for note in finished.of_kind("open")]


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
    assert finished.output() == [[0, 499], [1, 499]]
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


def test_a_pass_that_was_counted_on_keeps_no_batch_alive(job: Job) -> None:
    """enumerate() holds the last pair that it gave. A worker that was forked later freed its pinned batch, and died."""
    finished = run(
        job,
        """
    import weakref
    data = loader(50)
    def train():
        for number, (x,) in enumerate(data):
            train_on(x)
            if number == 45: done.append("late")
        return weakref.ref(x)
    last = [train() for epoch in range(3)]
    print(json.dumps([done, [each() is None for each in last]]))
    """,
    )
    assert any("`number` was counted on" in text for text in counted(finished))
    assert finished.output() == [["late"] * 3, [True] * 3]


def test_without_a_budget_and_in_whole_runs_nothing_is_moved(job: Job) -> None:
    text = STEP + "    for step in range(300): train_on(torch.ones(2, 4))\n    print(json.dumps(step))\n"
    assert job.run(text, steps="all").output() == 299
    assert counted(job.run(text, steps="auto")) == []


@pytest.mark.parametrize(
    ("begin", "go_on", "count", "late"),
    [
        ("seen = 0", "seen < 40_000", "seen += len(x)", "seen >= 30_000"),
        ("left = 9000", "left > 0", "left -= 1", "left <= 800"),
        (
            "state = {'tokens': 0}",
            "state['tokens'] < 90_000",
            "state['tokens'] += x.numel()",
            "state['tokens'] > 60_000",
        ),
    ],
)
def test_what_a_variable_counts_by_is_seen_from_its_last_rounds(
    job: Job, begin: str, go_on: str, count: str, late: str
) -> None:
    finished = run(
        job,
        f"""
    {begin}
    while {go_on}:
        x = torch.ones(4, 4)
        train_on(x)
        if {late}: done.append("late")
        {count}
    print(json.dumps(["end", len(done), *done[:1]]))
    """,
    )
    end, times, first = finished.output()
    assert (end, first) == ("end", "late") and times < 20


def test_the_numbers_that_itertools_counts_are_moved_and_so_is_a_table_by_steps(job: Job) -> None:
    finished = run(
        job,
        """
    import itertools
    def probe(): done.append("probed")
    TABLE = {3700: probe}
    for step in itertools.count(1):
        train_on(torch.ones(2, 4))
        act = TABLE.get(step)
        if act: act()
        if step == 5000: break
    print(json.dumps([*done, step]))
    """,
    )
    assert finished.output() == ["probed", 5000]


def test_thresholds_that_a_loop_goes_through_are_each_turned(job: Job) -> None:
    finished = run(
        job,
        """
    PHASES = [(0, 2), (1500, 3), (5200, 7)]
    WIDTHS = {0: 1, 4100: 2}
    def rows(step):
        size = None
        for begin, length in PHASES:
            if step >= begin: size = length
        return size * WIDTHS[max(key for key in WIDTHS if key <= step)]
    for step in range(6000):
        x = torch.ones(rows(step), 4)
        train_on(x); done.append(len(x))
    print(json.dumps(sorted(set(done))))
    """,
    )
    assert finished.output() == [2, 3, 6, 14]


def test_two_counters_in_one_test_are_solved_together(job: Job) -> None:
    finished = run(
        job,
        """
    for epoch in range(40):
        for i in range(200):
            large = epoch >= 20 and i % 50 == 7
            train_on(torch.ones(8 if large else 2, 4))
            if large: done.append([epoch, i])
    print(json.dumps(done[:1]))
    """,
        within="300n",
    )
    assert finished.output() == [[20, 7]]


def test_a_round_with_two_optimizers_is_one(job: Job) -> None:
    finished = run(
        job,
        """
    other = torch.optim.SGD(nn.Linear(4, 2).parameters(), lr=0.1)
    for step in range(5000):
        done.append(step)
        train_on(torch.ones(2, 4))
        if step >= 700: done.append("wide")
        other.step()
    print(json.dumps(done[20:]))
    """,
    )
    reached = finished.output()
    at = reached.index(700)
    assert reached[at : at + 4] == [700, "wide", 701, "wide"]


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


def test_a_name_that_was_to_be_bound_in_what_was_left_out_is_no_error_of_its_own(job: Job) -> None:
    finished = run(
        job,
        """
    import math
    for step in range(5000):
        train_on(torch.ones(2, 4))
        if math.sqrt(step) == 50.0: best = step
        if step == 4000: print(best)
    """,
        VRAMFIT_COVERAGE="1",
    )
    assert finished.exit_code == 0
    assert any("NameError" in text for text in opened(finished))


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


def test_growth_that_begins_late_is_followed_for_more_rounds(job: Job) -> None:
    text = """
    kept = []
    model.cuda()
    for step in range(6000):
        train_on(torch.ones(2, 4, device="cuda"))
        if step >= 3000:
            kept.append(torch.ones(64, 1024, device="cuda")); done.append(step)
    print(json.dumps(done))
    """
    finished = run(job, text, card=4 << 30)
    assert finished.output()[:9] == [*range(3000, 3008), 3020]
    assert finished.output()[-2:] == [5998, 5999]
    growth = finished.only("late_growth")
    assert growth["value"] == 3000 and growth["bytes_per_round"] == 64 * 1024 * 4


def test_a_test_within_a_function_is_read_in_the_words_of_its_call(job: Job) -> None:
    finished = run(
        job,
        """
    def divisible_by(number, divisor):
        return number % divisor == 0

    class Trainer:
        def __init__(self): self.step, self.every = 0, 700
        def train(self):
            while self.step < 5000:
                train_on(torch.ones(2, 4)); self.step += 1
                if self.step != 0 and divisible_by(self.step, self.every): done.append(self.step)
    Trainer().train()
    print(json.dumps(done))
    """,
    )
    assert finished.output()[0] == 700
    assert not any("could not be computed" in text for text in opened(finished))


@pytest.mark.parametrize("items", ["range(0, 160_000, 32)", "[*range(0, 160_000, 32)]", "(*range(0, 160_000, 32),)"])
def test_what_enumerate_goes_through_moves_with_its_number(job: Job, items: str) -> None:
    finished = run(
        job,
        f"""
    for epoch in range(2):
        for i, start in enumerate({items}):
            train_on(torch.ones(2, 4))
            assert start == 32 * i
            if i % 1000 == 700: done.append(i)
        done.append("evaluated")
    print(json.dumps(done))
    """,
    )
    assert finished.exit_code == 0, finished.stderr
    seen = finished.output()
    assert seen[0] == 700 and "evaluated" in seen, seen
    assert not finished.of_kind("error")
