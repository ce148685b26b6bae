"""Losses that end in something that is neither a mean nor a sum: parts of a batch take a mean of them, and say so."""

from __future__ import annotations

import pytest
from hooked_job import Job

PLAN = {"id": "micro_batch", "micro_batch": 2, "accumulate": 4, "loaders": [0]}
SCRIPT = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    torch.manual_seed(0)
    model = nn.Linear(4, 1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for (x,) in DataLoader(TensorDataset(torch.randn(16, 4)), batch_size=8):
        out = model(x.cuda()).squeeze(1)
        loss = {loss}
        optimizer.zero_grad()
        loss.backward({given})
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("loss", "given", "end"),
    [
        ("out.square().mean().sqrt()", "", "Sqrt"),
        ("torch.dot(out, out)", "", "Dot"),
        ("out.square()", "torch.ones_like(loss)", "several numbers"),
    ],
)
def test_what_is_neither_a_mean_nor_a_sum_is_named(job: Job, loss: str, given: str, end: str) -> None:
    done = job.run(SCRIPT.format(loss=loss, given=given), PLAN, card=2 << 30, VRAMFIT_VALUES="cpu")
    assert done.exit_code == 0, done.stderr
    texts = [effect["text"] for effect in done.of_kind("plan_effect")]
    assert any(f"ends in {end}, which is neither a mean nor a sum" in text for text in texts), texts


@pytest.mark.parametrize("loss", ["out.square().mean()", "out.square().sum()", "nn.functional.mse_loss(out, out * 0)"])
def test_means_and_sums_need_no_word(job: Job, loss: str) -> None:
    done = job.run(SCRIPT.format(loss=loss, given=""), PLAN, card=2 << 30, VRAMFIT_VALUES="cpu")
    assert done.exit_code == 0, done.stderr
    assert not done.of_kind("plan_effect")
