"""Losses under micro_batch that hold samples of a batch against each other, or are put together sample by sample: what
parts train otherwise is said before the first step, and what they train the same needs no word."""

from __future__ import annotations

import pytest
from hooked_job import Finished, Job

pytestmark = pytest.mark.by_release

SCRIPT = """
    import json, torch
    import torch.nn.functional as F
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    torch.manual_seed(0)
    model = nn.Linear(5, 3).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    data = TensorDataset(torch.randn(16, 5), torch.randn(16, 3))
    {before}
    for x, y in DataLoader(data, batch_size=8):
        x, y = x.cuda(), y.cuda()
        {loss}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(json.dumps([p.flatten().tolist() for p in model.parameters()]))
"""
SIZES = [1, 2, 4]


def train(job: Job, loss: str, size: int = 0, before: str = "", values: bool = True) -> Finished:
    """`loss`: lines that set `loss`. `size`: of the parts; 0: whole batches."""
    text = SCRIPT.format(loss=loss.replace("\n", "\n        "), before=before)
    plan = {"id": "micro_batch", "micro_batch": size, "accumulate": 8 // max(size, 1), "loaders": [0]}
    extra = {"VRAMFIT_VALUES": "cpu"} if values else {}
    done = job.run(text, *([plan] if size else []), card=2 << 30, **extra)
    assert done.exit_code == 0, done.stderr
    return done


def effects(done: Finished) -> list[str]:
    return [effect["text"] for effect in done.of_kind("plan_effect")]


PAIRS = "a = F.normalize(model(x)); b = F.normalize(model(x * 2)); places = torch.arange(len(x), device='cuda')\n"
EACH = "each = (model(x) - y).square().mean(1)\n"
BETWEEN = {
    "CLIP": (PAIRS + "loss = F.cross_entropy(a @ b.t() * 10, places)", "a table of pairs of samples (Mm"),
    "CLIP, both ways": (
        PAIRS + "g = a @ b.t(); loss = (F.cross_entropy(g, places) + F.cross_entropy(g.t(), places)) / 2",
        "a table of pairs of samples (Mm",
    ),
    "CLIP, one frozen": (
        PAIRS + "loss = F.cross_entropy(a @ F.normalize(y).t() * 10, places)",
        "a table of pairs of samples (Mm",
    ),
    "einsum": (PAIRS + "loss = F.cross_entropy(torch.einsum('id,jd->ij', a, b), places)", "a table of pairs"),
    "SimCLR": (
        "z = F.normalize(model(torch.cat([x, x + 0.1]))); n = len(z)\n"
        "table = (z @ z.T).masked_fill(torch.eye(n, device='cuda') > 0, -9.0)\n"
        "loss = F.cross_entropy(table, (torch.arange(n, device='cuda') + n // 2) % n)",
        "a table of pairs of samples (Mm",
    ),
    "distances": ("z = model(x); loss = (torch.cdist(z, z) - torch.cdist(y, y)).square().mean()", "(Cdist"),
    "differences": ("z = model(x); loss = ((z[:, None] - z[None]).square().sum(-1) - 1).square().mean()", "(Sub"),
    "triplets, the hardest": (
        "z = model(x); d = torch.cdist(z, z); loss = F.relu(d.amax(1) - d.amin(1) + 1).mean()",
        "(Cdist",
    ),
    "triplets, by places": (
        PAIRS + "loss = F.triplet_margin_loss(a, a[places.flip(0)], a[places.roll(1)], margin=2.0)",
        "samples beside others of the batch",
    ),
    "topk": (EACH + "loss = each.topk(max(1, len(x) // 2)).values.mean()", "opk"),
    "sorted": (EACH + "loss = each.sort().values[: len(x) // 2 + 1].mean()", ""),
    "softmax over samples": (EACH + "loss = (each.softmax(0) * each).sum()", "Softmax along the samples"),
    "log of a sum": (EACH + "loss = each.logsumexp(0)", "ends in Logsumexp"),
    "neighbours": ("z = model(x); loss = (z * z.roll(1, 0)).sum(1).square().mean()", "Roll along the samples"),
    "a mean that is squared": ("loss = (model(x).mean(0) - 1).square().mean()", "is not linear in a mean over all"),
    "a covariance": ("z = model(x); loss = (z.T @ z - torch.eye(3).cuda()).square().mean()", "over all samples"),
    "flooding": ("loss = (F.mse_loss(model(x), y) - 0.9).abs() + 0.9", "ends in Abs"),
    "a statistic": ("loss = ((model(x) - y).square() / y.abs().sum(0) + 1).log().mean()", "a mean of what is divided"),
}  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", BETWEEN)
def test_what_holds_samples_against_each_other_is_named(job: Job, name: str, size: int) -> None:
    loss, what = BETWEEN[name]
    for values in (True, False):  # nothing is known by its numbers
        told = effects(train(job, loss, size, values=values))
        assert told and (what in told[0] or size == 1), told


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("what", ["z.std(0)", "(z.var(dim=0) + 1e-4).sqrt()"])
def test_deviations_over_a_batch_are_named(job: Job, what: str, size: int) -> None:
    (told,) = effects(train(job, f"z = model(x); loss = F.mse_loss(z, y) + F.relu(1 - {what}).mean()", size))
    assert "along the samples of the batch" in told


SINGLE = {
    "zip": "loss = sum(F.mse_loss(o, t) for o, t in zip(model(x), y))",
    "zip, over their number": "loss = sum(F.mse_loss(o, t) for o, t in zip(model(x), y)) / len(x)",
    "by places": "out = model(x); loss = 0\nfor i in range(len(x)): loss = loss + F.l1_loss(out[i], y[i])",
    "stacked": "loss = torch.stack([F.mse_loss(o, t) for o, t in zip(model(x), y)]).sum()",
    "stacked, their mean": "loss = torch.stack([F.mse_loss(o, t) for o, t in zip(model(x), y)]).mean()",
    "cross entropies": "loss = sum(F.cross_entropy(o[None], t.argmax()[None]) for o, t in zip(model(x), y))",
    "two terms each": "loss = sum(F.mse_loss(o, t) + 0.1 * o.abs().mean() for o, t in zip(model(x), y))",
    "and a mean": "out = model(x); loss = sum(F.mse_loss(o, t) for o, t in zip(out, y)) + 0.5 * out.square().mean()",
    "within samples": "loss = (model(x) - y).square().mean(dim=1).sum()",
}
ORDINARY = {
    "a mean over samples, of each": EACH + "loss = each.mean()",
    "a mean of means": "out = model(x); loss = torch.stack([F.mse_loss(out, y), F.l1_loss(out, y)]).mean()",
    "two means": "out = model(x); loss = F.mse_loss(out, y) + F.mse_loss(out * 2, y)",
    "means of weights": "loss = F.mse_loss(model(x), y) + sum(p.square().mean() for p in model.parameters())",
    "columns": "out = model(x); loss = 0\nfor i in range(3): loss = loss + F.mse_loss(out[:, i], y[:, i])",
    "cosines": "loss = (1 - F.cosine_similarity(model(x), y)).mean()",
    "two views": "a, b = model(torch.cat([x, x + 0.1])).chunk(2); loss = -F.cosine_similarity(a, b.detach()).mean()",
    "a focal loss": (
        "ce = F.cross_entropy(model(x), y.argmax(1), reduction='none')\nloss = ((1 - torch.exp(-ce)) ** 2 * ce).mean()"
    ),
    "dice of each": (
        "p, t = model(x).sigmoid(), y.sigmoid()\nloss = (1 - 2 * (p * t).sum(1) / (p.sum(1) + t.sum(1))).mean()"
    ),
    "triplets": "loss = F.triplet_margin_loss(model(x), model(x + 1), model(x - 1), margin=9.0)",
    "weights of columns": "loss = ((model(x) - y).square().mean(0) * torch.arange(3, device='cuda')).mean()",
    "a head of cosines": (
        "table = F.normalize(x) @ F.normalize(model.weight).T\nloss = F.cross_entropy(4 * table, y.argmax(1))"
    ),
    "a batch in another order": "places = torch.arange(len(x), device='cuda'); loss = F.mse_loss(model(x)[places], y)",
    "the number of each one's class": (
        "out = model(x); places = torch.arange(len(x), device='cuda')\n"
        "loss = (out.logsumexp(1) - out[places, y.argmax(1)]).mean()"
    ),
    "labels that are left out": "t = y.argmax(1); t[t == 0] = -100; loss = F.cross_entropy(model(x), t)",
    "attention in a sample": (
        "q = model(x).unsqueeze(1)\nloss = ((q.transpose(1, 2) @ q).softmax(-1).sum(1) - y).square().mean()"
    ),
}  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("loss", [*SINGLE.values(), *ORDINARY.values()], ids=[*SINGLE, *ORDINARY])
def test_what_trains_the_same_needs_no_word(job: Job, loss: str, size: int) -> None:
    whole, parts = train(job, loss), train(job, loss, size)
    assert not effects(parts)
    for one, expected in zip(parts.output(), whole.output()):
        assert one == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("size", [2, 4])
def test_a_network_that_is_called_sample_by_sample_trains_the_same(job: Job, size: int) -> None:
    loss = "loss = 0\nfor one, t in zip(x, y): loss = loss + F.mse_loss(model(one), t)"
    whole, parts = train(job, loss), train(job, loss, size)
    assert not effects(parts)
    for one, expected in zip(parts.output(), whole.output()):
        assert one == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_steps_of_which_there_are_as_many_as_samples_are_named(job: Job) -> None:
    loss = "out = model(torch.stack([x, x + 1])); loss = F.mse_loss(out[0], y) + F.mse_loss(out[1], y)"
    (told,) = effects(train(job, loss, 2))
    assert "nothing tells whether terms of the loss" in told and "are of single samples" in told
    assert not effects(train(job, loss, 4))


@pytest.mark.parametrize("size", [2, 4])
def test_a_mean_by_samples_of_pytorch_is_no_number_of_the_script(job: Job, size: int) -> None:
    loss = "loss = F.kl_div(model(x).log_softmax(1), y.softmax(1), reduction='batchmean')"
    before = f"half = data.tensors[0].mean() / {size}"
    whole, parts = train(job, loss, before=before), train(job, loss, size, before=before)
    assert not effects(parts)
    for one, expected in zip(parts.output(), whole.output()):
        assert one == pytest.approx(expected, rel=1e-4, abs=1e-6)
    by_hand = "loss = F.kl_div(model(x).log_softmax(1), y.softmax(1), reduction='sum') / len(x)"
    assert "was taken for a number of samples" in effects(train(job, by_hand, size, before=before))[0]


TWOFOLD = "loss = F.mse_loss(model(x), y, reduction='sum')"


@pytest.mark.parametrize(
    ("before", "by", "size", "text"),
    [
        ("norm = 4", "/ norm", 4, "the 4 that a sum is divided by was taken for a number of samples"),
        ("class Args: norm = 4", "/ Args.norm", 4, "the 4 that a sum is divided by"),
        ("config = {'norm': 4}", "/ config['norm']", 4, "the 4 that a sum is divided by"),
        ("norm = 4", "/ norm", 2, ""),
        ("norm = 4", "/ len(x)", 4, ""),
        ("weight = 0.25", "* (1 / len(x))", 4, "the 0.25 that a sum is multiplied by"),
        (
            "weight = 0.25; mean = lambda t: t.sum() * (1 / len(t))",
            "* weight",
            4,
            "the 0.25 that a sum is multiplied by",
        ),
        ("weight = 0.25", "* weight", 4, ""),
        ("", "* (1 / len(x))", 1, "the 1 that a sum is multiplied by"),
    ],
)
def test_numbers_that_may_be_those_of_samples_are_named(job: Job, before: str, by: str, size: int, text: str) -> None:
    told = effects(train(job, f"{TWOFOLD} {by}", size, before))
    assert [text in each for each in told] == [True] * bool(text), told
