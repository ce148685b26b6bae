"""Running on in full, as far as a budget goes, and cut after that."""

from __future__ import annotations

import pytest
from hooked_job import Job
from test_cut import DATA


def test_a_job_that_fits_its_budget_is_not_cut_at_all(job: Job) -> None:
    finished = job.run(
        DATA
        + """
    train, val = DataLoader(Data(100), 10, shuffle=True), DataLoader(Data(50), 10)
    counts = []
    for epoch in range(3):
        count = 0
        for x, y in train: train_on(x, y); count += 1
        counts += [count, validate(val)]
    print(json.dumps(counts))
    """,
        steps="auto",
        VRAMFIT_RUN_ON="60",
    )
    assert finished.output() == [10, 5] * 3
    assert finished.of_kind("cut") == []
    assert finished.only("run_on")["count"] == 45 + 6  # a pass asks once more at its end


def test_past_the_budget_passes_get_one_batch_and_the_script_comes_to_its_end(job: Job) -> None:
    finished = job.run(
        DATA
        + """
    train, val = DataLoader(Data(1000), 10, shuffle=True), DataLoader(Data(500), 10)
    counts = []
    for epoch in range(3):
        count = 0
        for x, y in train: train_on(x, y); count += 1
        counts += [count, validate(val)]
    print(json.dumps(counts))
    """,
        steps="auto",
        VRAMFIT_RUN_ON="130n",
    )
    assert finished.output()[:3] == [100, 28, 1]  # 100 batches and the end of a pass, then 28
    assert finished.output()[3:] == [1, 1, 1]


def test_a_loop_that_cannot_be_cut_is_ended_when_the_budget_is_used(job: Job) -> None:
    finished = job.run(
        DATA + "    while True: train_on(torch.ones(2, 4), torch.ones(2, dtype=torch.long))\n",
        steps="auto",
        VRAMFIT_RUN_ON="200n",
    )
    assert finished.exit_code == 0, finished.stderr
    assert finished.only("run_on")["count"] == 200
    assert "budget" in finished.of_kind("cut")[-1]["text"]


def test_batches_drawn_by_hand_do_not_end_before_the_data_does(job: Job) -> None:
    script = (
        DATA
        + """
    batches = iter(DataLoader(Data(100000), 2, shuffle=True))
    for step in range(10**9):
        train_on(*next(batches))
    """
    )
    finished = job.run(script, steps="auto")
    assert finished.exit_code == 0, finished.stderr
    assert "optimizer steps were run" in finished.of_kind("cut")[-1]["text"]
    finished = job.run(script, steps="auto", VRAMFIT_RUN_ON="50n")
    assert finished.exit_code == 0, finished.stderr
    assert finished.only("run_on")["count"] >= 50


BY_HAND_OF = {
    "a generator": ("for batch in DataLoader(Data(100000), 2): yield batch", False),
    "a generator of a generator": ("yield from (batch for batch in DataLoader(Data(100000), 2))", False),
    "a generator that begins again": (
        "loader = DataLoader(Data(100000), 2)\n        while True:\n            for batch in loader: yield batch",
        True,
    ),
}


@pytest.mark.parametrize("name", BY_HAND_OF)
def test_a_generator_drawn_from_by_hand_ends_with_its_data(job: Job, name: str) -> None:
    body, is_cut = BY_HAND_OF[name]
    draws = "    drawn = batches()\n    for step in range(12): train_on(*next(drawn))\n"
    tells = "    from vramfit.observe import loaders\n    print(json.dumps(max(loaders._state.counts.values())))\n"
    finished = job.run(DATA + f"    def batches():\n        {body}\n{draws}{tells}", steps="auto")
    passes = finished.output()
    assert (passes > 1) == is_cut


def test_a_pass_that_waits_for_data_of_one_size_reads_every_fourth_batch(job: Job) -> None:
    finished = job.run(
        DATA
        + """
    from vramfit.observe import loaders
    from vramfit.steer import alike
    this_pass = loaders.Pass(DataLoader(Data(8000), 4), 7, 1)
    this_pass.in_full = this_pass.all_alike = True
    this_pass.reading_seconds = 1e9  # all its time
    reads = []
    for batch in range(80):
        given = alike.instead(this_pass)
        reads.append(given is None)
        if given is None: alike.learn(this_pass, [torch.ones(4, 4), torch.ones(4)])
    this_pass.all_alike = False
    print(json.dumps([sum(reads[:32]), sum(reads[32:]), alike.instead(this_pass) is None]))
    """
    )
    assert finished.output() == [32, 12, True]


def test_a_model_that_is_called_for_ever_is_ended_after_the_budget(job: Job) -> None:
    finished = job.run(
        DATA + "    with torch.no_grad():\n        while True: model(torch.ones(2, 4))\n",
        steps="auto",
        VRAMFIT_RUN_ON="2",
    )
    assert finished.exit_code == 0, finished.stderr
    assert "the time to run on (2 s) was used" in finished.of_kind("cut")[-1]["text"]


@pytest.mark.parametrize(
    ("peaks", "count"),
    [("[5] * 100", 8), ("[1, 2, 3, 4, 5] + [5] * 100", 16), ("list(range(1, 101))", 100), ("[5] * 80 + [9] * 20", 8)],
)
def test_a_settled_peak_ends_a_budget_early_where_that_is_allowed(job: Job, peaks: str, count: int) -> None:
    finished = job.run(
        f"""
    import json, os
    from vramfit.steer.running_on import Budget
    def until_the_end(within):
        os.environ["VRAMFIT_RUN_ON"] = within
        budget = Budget()
        budget.used_seconds = lambda: 7.0
        return next((n for n, peak in enumerate({peaks}, 1) if budget.spend(peak)), 100)
    print(json.dumps([until_the_end(within) for within in ("8-20", "20", "9-20")]))
    """
    )
    assert finished.output() == [count, 100, 100]


def test_what_follows_an_early_end_has_its_share_of_the_shorter_time(job: Job) -> None:
    finished = job.run(
        DATA
        + """
    counts = []
    for x, y in DataLoader(Data(10_000_000), 10): train_on(x, y); counts.append(0)
    print(json.dumps([len(counts) < 1_000_000, validate(DataLoader(Data(500), 10))]))
    """,
        steps="auto",
        VRAMFIT_RUN_ON="0.5-3600",
    )
    assert finished.output() == [True, 1]


SUPPRESSES = """
    import torch
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    boxes = torch.ones(8, 4)
    def suppress(boxes):
        rounds = 0
        while ROUNDS:
            try: rounds += int((boxes - boxes[0]).abs().sum() == 0)
            except EVERYTHING: pass
    for step in range(100):
        model(torch.ones(1, 4)).sum().backward()
        optimizer.step()
    suppress(boxes)
"""


@pytest.mark.parametrize("caught", ["ValueError", "BaseException"])
def test_a_loop_of_the_hosts_own_does_not_outlast_the_budget(job: Job, caught: str) -> None:
    text = SUPPRESSES.replace("ROUNDS", "True").replace("EVERYTHING", caught)
    if caught == "BaseException":  # it takes more than one
        text = text.replace("while True", "while rounds is not None").replace(": pass", ": rounds = None")
    finished = job.run(text, steps="auto", VRAMFIT_RUN_ON="3", VRAMFIT_COVERAGE="1")
    assert finished.exit_code == 0, finished.stderr
    (stopped,) = [note["text"] for note in finished.of_kind("cut") if note["what"] == "stopped"]
    assert "used within a step" in stopped
    assert any("ended early" in note["text"] for note in finished.of_kind("open"))


OUT_OF_TURN = """
    import time, torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset
    class Data(Dataset):
        def __len__(self): return 120
        def __getitem__(self, index):
            if torch.utils.data.get_worker_info().id == 0: time.sleep(0.02)
            return torch.ones(64)
    class OnCard:
        def __init__(self, samples): self.x = torch.stack(samples)
        def pin_memory(self):
            self.x = self.x.cuda()
            return self
    model = nn.Linear(64, 8).cuda()
    seen = 0
    for batch in DataLoader(Data(), batch_size=2, num_workers=3, pin_memory=True, collate_fn=OnCard):
        model(batch.x).sum().backward()
        seen += 1
    print("1")
"""


def test_batches_that_come_before_their_turn_keep_their_place(job: Job) -> None:
    """One worker is slower than the others, whose batches then wait for it."""
    finished = job.run(OUT_OF_TURN, card=4 << 30)
    assert finished.exit_code == 0, finished.stderr
    assert finished.output() == 1
