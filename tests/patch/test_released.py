"""Gradients released in backward by a line of the script's own: the same training to the bit, or left to the plan."""

from __future__ import annotations

import sys

import pytest
from product import Product
from test_patch import RELEASED, Case, apply, copy_of, keeping_products, patch, run, write_plan

SCRIPT = """import os
import torch
from torch import nn

net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4)).cuda()
every = int(os.environ.get("EVERY", "1"))


def make_optimizer():
    return torch.optim.AdamW(net.parameters(), lr=0.01)


optimizer = make_optimizer()
for number in range(4):
    loss = net(torch.ones(16, 8).cuda()).square().mean()
    loss.backward()
    if (number + 1) % every == 0:
        optimizer.step()
        optimizer.zero_grad()
print("weights", [float(p.double().abs().sum()) for p in net.parameters()])
"""
LEFT = {
    "clipping that another option turns on": (
        "        optimizer.step()",
        "        if every > 1:\n            nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n        optimizer.step()",
        "train.py:19 clips gradients, though not in this run",
    ),
    "gradients that another option logs": (
        "        optimizer.step()",
        "        if every > 1:\n            print(net[0].weight.grad.norm())\n        optimizer.step()",
        "train.py:19 looks at gradients, though not in this run",
    ),
    "ranks that another option starts": (
        "for number",
        "if every > 1:\n    net = nn.parallel.DistributedDataParallel(net)\nfor number",
        "train.py:15 exchanges gradients between ranks, though not in this run",
    ),
    "an optimizer in something else": (
        "optimizer = make_optimizer()",
        "optimizers = {'all': make_optimizer()}\noptimizer = optimizers['all']",
        "no variable holds the optimizer where it is made (train.py:10)",
    ),
    "several optimizers": (
        "for number",
        "other = nn.Linear(4, 4).cuda()\nother_optimizer = torch.optim.SGD(other.parameters(), lr=0.1)\nfor number",
        "it needs one optimizer, which is made once",
    ),
}


@pytest.mark.parametrize("before", LEFT)
def test_what_would_miss_its_gradients_stays_with_the_plan(product: Product, before: str) -> None:
    old, new, why = LEFT[before]
    script = product.folder / "train.py"
    script.write_text(SCRIPT.replace(old, new, 1))
    made = patch(product, script, write_plan(product.folder / "plan.json", [RELEASED]))
    assert (made.exit_code, made.stdout) == (1, ""), made
    assert f"release_gradients is not in the source: {why}" in made.stderr


def test_gradients_that_are_clipped_are_refused_by_the_plan_itself(product: Product) -> None:
    folder = copy_of(product, Case("functions", []), "job")
    made = patch(product, folder / "train.py", write_plan(product.folder / "plan.json", [RELEASED]))
    assert made.exit_code == 3, made
    assert "gradients are looked at after the backward pass" in made.stderr


def test_a_second_backward_pass_before_the_step_is_an_error_of_the_script(product: Product) -> None:
    """An option that the run did not have, and that would train something else without a word."""
    script = product.folder / "train.py"
    script.write_text(SCRIPT)
    made = patch(product, script, write_plan(product.folder / "plan.json", [RELEASED]))
    assert made.exit_code == 0, made
    assert "+optimizer = make_optimizer()" not in made.stdout and "+update_in_backward(optimizer)" in made.stdout
    apply(product.folder, made.stdout, "git")
    assert run(product, script)[1]
    done = product.call("run", "--gpu", "rtx3060", "--", sys.executable, str(script), EVERY="2")
    assert "a second backward pass before step()" in done.stdout + done.stderr, done


@pytest.mark.parametrize(
    "case",
    [
        Case("resumed", [keeping_products("1", "2"), RELEASED]),
        Case("experiment", [RELEASED]),
        Case("trainer", [RELEASED]),
    ],
    ids=str,
)
def test_weights_are_the_same_to_the_bit(product: Product, case: Case) -> None:
    plain, patched = copy_of(product, case, "plain"), copy_of(product, case, "patched")
    made = patch(product, patched / case.script, write_plan(product.folder / "plan.json", case.techniques))
    assert made.exit_code == 0, made
    apply(patched, made.stdout, "git")
    peak, weights = run(product, plain / case.script)
    peak_patched, weights_patched = run(product, patched / case.script)
    assert weights_patched == weights
    assert peak_patched <= peak
