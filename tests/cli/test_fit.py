"""`vramfit fit` on small scripts: fits already, a proven plan, and no plan at all."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from product import Finished, Product

# Activations of `--width` numbers per sample and layer decide; the weights are small.
SCRIPT = """
    import argparse
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--side", type=int, default=64)
    options = parser.parse_args()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            blocks = [nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()) for _ in range(8)]
            self.stem = nn.Conv2d(3, 32, 3, padding=1)
            self.blocks = nn.Sequential(*blocks)
            self.head = nn.Linear(32, 10)

        def forward(self, x):
            return self.head(self.blocks(self.stem(x)).mean((2, 3)))

    count = 8 * options.batch_size
    data = TensorDataset(torch.zeros(count, 3, options.side, options.side), torch.zeros(count, dtype=torch.long))
    loader = DataLoader(data, batch_size=options.batch_size, shuffle=True)
    model = Net().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for epoch in range(100):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
    print("trained")
"""


def fit(product: Product, *arguments: str, gpu: str, options: tuple[str, ...] = ()) -> Finished:
    script = product.script(SCRIPT)
    report = product.folder / "fit.json"
    words = ["fit", "--gpu", gpu, "--json", str(report), *options, "--", sys.executable, str(script), *arguments]
    done = product.call(*words, timeout=240)
    if report.exists():
        done.result = json.loads(report.read_text())
    return done


def test_a_job_that_fits_already_needs_no_plan(product: Product) -> None:
    done = fit(product, "--batch-size", "4", gpu="rtx3090")
    assert done.exit_code == 0, str(done)
    assert "fits" in done.stderr + done.stdout


@pytest.mark.slow
def test_a_job_that_runs_out_gets_a_proven_plan_and_the_plan_works(product: Product) -> None:
    before = product.run(product.script(SCRIPT), "--batch-size", "720", gpu="gtx1650")
    assert before.result["verdict"] == "out_of_memory", str(before)
    plan = product.folder / "plan.json"
    done = fit(product, "--batch-size", "720", gpu="gtx1650", options=("--plan-out", str(plan)))
    assert done.exit_code == 0, str(done)
    assert "--plan" in done.stderr + done.stdout, "the command that applies the winner is given"
    techniques = json.loads(Path(plan).read_text())["techniques"]
    assert techniques
    after = product.run(
        product.folder / "train.py", "--batch-size", "720", gpu="gtx1650", options=("--plan", str(plan))
    )
    assert after.result["verdict"] == "fits", str(after)


@pytest.mark.slow
def test_a_job_that_nothing_can_save_exits_with_1(product: Product) -> None:
    done = fit(product, "--batch-size", "1", "--side", "16", gpu="rtx3060:700MiB", options=("--budget", "20"))
    assert done.exit_code in (0, 1), str(done)
    if done.exit_code == 0:
        assert "fits" in done.stderr + done.stdout
