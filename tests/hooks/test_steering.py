"""A floating-point number that the script reads from the card and tests: what it decides, and what is done about it."""

from __future__ import annotations

import pytest
from hooked_job import Job
from product import Product

pytestmark = pytest.mark.by_release

GIB = 1 << 30

# More multiplications than are computed when values are followed, so that nothing is known of a loss.
MODEL = """
    import torch
    wide = torch.nn.Linear(2048, 1024).cuda()
    def loss():
        return wide(torch.rand(512, 2048, device="cuda")).pow(2).mean()
"""
SHRINKS = f"""{MODEL}
    error, rounds = loss(), 0
    while error.item() > 0.5:
        error, rounds = loss(), rounds + 1
    print("rounds", rounds)
"""


def reads(job: Job, body: str) -> list[tuple[str, str]]:
    finished = job.run(MODEL + body, card=2 * GIB)
    assert finished.exit_code == 0, finished
    return [(note["what"], note["line"].split()[0]) for note in finished.of_kind("data_read")]


@pytest.mark.parametrize(
    "body",
    [
        "    while loss().item() > 0.5:\n        pass",
        "    value = loss().item()\n    while value > 0.5:\n        value = loss().item()",
        "    for _ in range(9):\n        if loss().item() < 1e-3:\n            break",
        "    total = 0.0\n    for i in range(3):\n        total += float(loss())\n        mean = total / 3\n"
        "        if abs(mean) < 0.1:\n            break",
    ],
    ids=["while", "assigned", "convergence", "worked-out"],
)
def test_a_number_that_ends_a_loop_is_noted(job: Job, body: str) -> None:
    first, _ = reads(job, body)[0]
    assert first.startswith("a number that decides how long a loop runs (")


def test_a_number_that_chooses_a_branch_is_noted_with_its_line(job: Job) -> None:
    best = "    best = 9.0\n    value = loss().item()\n    if value < best:\n        best = value"
    finished = job.run(MODEL + best, card=2 * GIB)
    assert [(note["what"], note["is_branch"]) for note in finished.of_kind("data_read")] == [("a branch (item)", True)]


def test_numbers_that_are_printed_are_no_news(job: Job) -> None:
    body = """
    total = 0.0
    for i in range(3):
        value = loss().item()
        total += value
        if i % 2 == 0:
            print(value, total / 3)
    """
    assert reads(job, body) == []


def test_a_loop_until_a_loss_is_small_is_run_and_told(product: Product) -> None:
    done = product.run(SHRINKS, gpu="rtx3090")
    assert done.exit_code == 0, done
    assert int(done.stdout.split()[-1]) > 3, done.stdout
    (read,) = done.result["depends_on_data"]
    assert read["what"] == "a number that decides how long a loop runs" and read["line"].startswith("train.py:8")


def test_a_count_that_the_card_adds_to_does_not_fail_the_script(product: Product) -> None:
    done = product.run(
        """
        import torch
        from torch.optim.swa_utils import AveragedModel, update_bn
        model = torch.nn.Sequential(torch.nn.Linear(256, 64), torch.nn.BatchNorm1d(64)).cuda()
        update_bn((torch.rand(16, 256).cuda() for _ in range(3)), AveragedModel(model))
        """,
        gpu="rtx3090",
    )
    assert done.exit_code == 0 and done.result["verdict"] == "fits", done
