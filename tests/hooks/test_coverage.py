"""Lines of the script that were not reached: which may still come, and which of them would use the card."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hooked_job import Job

LOOP = """
    import random, torch
    from torch import nn
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    USE_EMA = False
    def evaluate(model):
        with torch.no_grad():
            return model(torch.ones(512, 4))
    def say(text):
        print(text)
    def train_step(step, x):
        loss = model(x).sum()
        if USE_EMA:
            loss = loss + model(x).mean()
        if step % 64 == 63:
            loss = loss + torch.autograd.grad(model(x).sum(), model.parameters())[0].norm()
        if x is None:
            evaluate(model)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


def gaps_of(job: Job, text: str, **extra: str) -> dict[str, dict[str, Any]]:
    finished = job.run(LOOP + text, steps="auto", VRAMFIT_COVERAGE="1", **extra)
    assert finished.exit_code == 0, finished.stderr
    note = finished.only("coverage")
    assert note["known"]
    return {gap["code"]: gap for gap in note["unreached"]}


def test_what_a_later_step_may_reach_is_told_with_its_test_and_whether_it_uses_the_card(job: Job) -> None:
    gaps = gaps_of(
        job,
        """
    for step in range(100000):
        train_step(step, torch.ones(2, 4))
        if step % 1000 == 999:
            evaluate(model)
        if step % 500 == 499:
            say(f"step {step}")
        if USE_EMA:
            evaluate(model)
    torch.ones(1 << 10) @ torch.ones(1 << 10)
    """,
    )
    assert gaps["evaluate(model)"]["when"] == "if step % 1000 == 999"
    assert gaps["evaluate(model)"]["card"] == "yes"
    assert gaps["say(f'step {step}')"]["card"] == "no"
    (penalty,) = [gap for code, gap in gaps.items() if "autograd.grad" in code]
    assert penalty["when"] == "if step % 64 == 63" and penalty["card"] == "yes"
    (after,) = [gap for code, gap in gaps.items() if "1 << 10" in code]
    assert after["when"] == "after the place where the run was ended"
    assert len(gaps) == 4, "what was decided once and for all is no gap"


def test_the_other_side_of_an_expression_is_told_where_the_loop_will_come_to_it(job: Job) -> None:
    gaps = gaps_of(
        job,
        """
    HALF = 50000
    for step in range(100000):
        train_step(step, torch.ones(2 if step < HALF // 2 else 64, 4))
        train_step(step, torch.ones(2 if step > 200000 else 3, 4))   # the loop ends before
        train_step(step, torch.ones(2 if step >= 1 else 3, 4))       # both sides were seen
    """,
    )
    sides = {code: gap["when"] for code, gap in gaps.items() if " else " in code}
    assert sides == {"2 if step < HALF // 2 else 64": "once step is 25,000"}
    assert {code for code, gap in gaps.items() if gap.get("what") == "other_side"} == sides.keys()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code has no columns")
def test_branches_that_share_a_line_with_their_test_are_told_apart(job: Job) -> None:
    gaps = gaps_of(
        job,
        """
    late = []
    for step in range(100000):
        train_step(step, torch.ones(2, 4))
        if step % 1000 == 999: evaluate(model)
        if step % 2: say("unread")
        x = evaluate(model) if step > 4000 else None
        y = evaluate(model.train()) if step % 3 == 1 else None
        step == 5000 and evaluate(model.eval())
        step >= 0 and train_step(step, torch.ones(2, 4))
        for each in late: evaluate(model.half())
        for each in (1, 2): train_step(step, torch.ones(each, 4))
        if step == 7000: late.append(0)
        if USE_EMA: evaluate(model)
    """,
    )
    parts = {gap["code"]: gap["when"] for gap in gaps.values() if "column" in gap and gap["card"] == "yes"}
    assert parts == {
        "evaluate(model)": "if step > 4000",
        "evaluate(model.eval())": "if step == 5000",
        "evaluate(model.half())": "if late gives anything",
    }


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code has no columns")
def test_both_one_line_branches_of_one_text_are_told(job: Job) -> None:
    finished = job.run(
        LOOP
        + """
    def main():
        for step in range(100000):
            train_step(step, torch.ones(2, 4))
            if step == 3000: evaluate(model)
            if step == 9000: evaluate(model)
    main()
    """,
        steps="auto",
        VRAMFIT_COVERAGE="1",
    )
    note = finished.only("coverage")
    told = [(gap["line"], gap["column"], gap["when"]) for gap in note["unreached"] if "column" in gap]
    assert sorted(told)[-2:] == [(25, 26, "if step == 3000"), (26, 26, "if step == 9000")]


def test_what_runs_once_is_decided(job: Job) -> None:
    """However often the names of its test change elsewhere."""
    gaps = gaps_of(
        job,
        """
    def prepare(size):
        if size > 100: evaluate(model)
        if size > 50:
            evaluate(model)
        return size
    def main():
        size = prepare(2)
        if size > 9:
            evaluate(model)
        for step in range(100000):
            size += 1
            train_step(step, torch.ones(2, 4))
            if size == 90000:
                evaluate(model)
    main()
    """,
    )
    assert [gap["when"] for gap in gaps.values() if gap["code"] == "evaluate(model)"] == ["if size == 90000"]


def test_what_a_learning_rate_or_a_count_of_others_decides_may_come(job: Job) -> None:
    gaps = gaps_of(
        job,
        """
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1000, 0.1)
    for _ in range(100000):
        train_step(0, torch.ones(2, 4))
        scheduler.step()
        if scheduler.get_last_lr()[0] < 0.05:
            evaluate(model)
        if optimizer.param_groups[0]["lr"] < 0.005:
            evaluate(model.half())
    """,
    )
    assert gaps["evaluate(model)"]["when"] == "if scheduler.get_last_lr()[0] < 0.05"
    assert gaps["evaluate(model.half())"]["card"] == "yes"


def test_an_early_exit_hides_what_comes_after_it(job: Job) -> None:
    gaps = gaps_of(
        job,
        """
    memory = []
    for step in range(100000):
        memory.append(step)
        train_step(step, torch.ones(2, 4))
        if len(memory) < 5000:
            continue
        evaluate(model)
    """,
    )
    assert gaps["evaluate(model)"]["when"] == "unless len(memory) < 5000"


def test_a_copy_that_a_later_step_makes_and_what_waits_for_it_are_told(job: Job) -> None:
    gaps = gaps_of(
        job,
        """
    import copy
    average = None
    for step in range(100000):
        train_step(step, torch.ones(2, 4))
        if step == 3000:
            average = copy.deepcopy(model)
        if average is not None:
            evaluate(average)
    """,
    )
    assert gaps["average = copy.deepcopy(model)"]["card"] == "unknown"
    assert gaps["evaluate(average)"]["when"] == "if average is not None"


def test_a_script_that_ran_to_its_end_has_no_gaps(job: Job) -> None:
    finished = job.run(
        LOOP + "    for step in range(3): train_step(step, torch.ones(2, 4))\n", steps="auto", VRAMFIT_COVERAGE="1"
    )
    note = finished.only("coverage")
    assert note["unreached"] == [] and finished.of_kind("cut") == []


@pytest.mark.parametrize("how", ["import sys; sys.settrace(lambda *_: None)"])
def test_who_takes_the_place_of_the_watcher_is_noticed(job: Job, how: str) -> None:
    import sys

    if sys.version_info >= (3, 12):
        pytest.skip("sys.monitoring has a place for each")
    text = f"    {how}\n    for step in range(100000): train_step(step, torch.ones(2, 4))\n"
    finished = job.run(LOOP + text, steps="auto", VRAMFIT_COVERAGE="1")
    assert not finished.only("coverage")["known"]


def test_functions_that_are_handed_around_and_never_called_are_told(job: Job) -> None:
    gaps = gaps_of(
        job,
        """
    def probe():
        evaluate(model)
    def thaw():
        [model][0].requires_grad_(True)
    def never_used():
        evaluate(model)
    TABLE = {40_000: probe, 50_000: thaw, 60_000: lambda: model(torch.ones(9, 4)), 70_000: lambda: say("x")}
    for step in range(100000):
        train_step(step, torch.ones(2, 4))
        act = TABLE.get(step)
        if act:
            act()
    """,
    )
    assert gaps["evaluate(model)"]["when"] == "when `probe` is called"
    assert gaps["[model][0].requires_grad_(True)"]["card"] == "unknown"
    assert gaps["model(torch.ones(9, 4))"]["when"] == "when this lambda is called"
    assert gaps["act()"]["card"] == "unknown"
    assert "say('x')" not in gaps


def test_a_local_variable_is_no_function_that_is_handed_around(job: Job) -> None:
    gaps = gaps_of(
        job,
        """
    class Scene:
        def box(self): return evaluate(model)
        def hood(self):
            box = [1, 2]
            return torch.tensor(box)
    def unused(): return model(torch.ones(8, 4))
    def other(unused): return unused
    def probe(): return model(torch.ones(9, 4))
    Scene().hood(); other(3)
    for step in range(100000):
        train_step(step, torch.ones(2, 4))
        if step == 70_000: other(probe)
    """,
    )
    assert "return model(torch.ones(9, 4))" in gaps, "a function that is handed around"
    assert not {"return evaluate(model)", "return model(torch.ones(8, 4))"} & gaps.keys(), gaps


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])  # the last is Python's own choice from 3.14 on
def test_what_the_workers_of_a_loader_run_is_reached(job: Job, start: str) -> None:
    finished = job.run(
        LOOP
        + f"""
    class Data(torch.utils.data.Dataset):
        def __len__(self): return 64
        def __getitem__(self, at):
            if at % 7 == 3:
                torch.rand(4)
            return torch.rand(4)
    def stacked(samples):
        together = torch.stack(samples)
        return together
    def never(samples):
        return torch.cat(samples)
    def choose(which): return stacked if which else never
    if __name__ == "__main__":
        loader = torch.utils.data.DataLoader(
            Data(), 8, collate_fn=choose(True),
            num_workers=2, multiprocessing_context="{start}", persistent_workers=True)
        for step in range(100000):
            for batch in loader: train_step(step, batch)
    """,
        steps="auto",
        VRAMFIT_COVERAGE="1",
    )
    assert finished.exit_code == 0, finished.stderr
    of_main = max(finished.of_kind("coverage"), key=lambda note: note["lines_run"])
    gaps = [gap["code"] for gap in of_main["unreached"]]
    assert not [code for code in gaps if "stack" in code or "torch.rand" in code]
    assert any("torch.cat" in code for code in gaps)
