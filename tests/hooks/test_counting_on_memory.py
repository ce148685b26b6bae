"""What counting on keeps alive, and what grows only where a loop was moved to."""

from __future__ import annotations

from counting_job import counted, run
from hooked_job import Job


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
