"""Counting on: past the budget, loops are moved on to what their tests say they have not done yet."""

from __future__ import annotations

import pytest
from counting_job import counted, opened, run
from hooked_job import Job


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
