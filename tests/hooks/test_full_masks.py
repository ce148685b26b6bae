"""Masks that were computed on the card, in a run of a script that failed where they selected nothing."""

from __future__ import annotations

from hooked_job import Job

GIB = 1 << 30

SHAPES = """
    import json, torch
    x = torch.rand(4, 6, device="cuda", requires_grad=True)
    computed = x.detach() * 2 > 1
    shapes = {
        "index": x[computed].shape,
        "rows": x[computed[:, 0]].shape,
        "part": x[:, computed[0]].shape,
        "select": torch.masked_select(x, computed).shape,
        "nonzero": computed.nonzero().shape,
        "tuple": [found.shape for found in torch.where(computed)],
        "three": torch.where(computed, x, x).shape,
    }
    put = torch.zeros(4, 6, device="cuda")
    put[computed] = 1.0
    try:
        put[computed] = torch.ones(5, device="cuda")
        put[computed[:, 0]] = torch.ones(3, 6, device="cuda")
        shapes["put"] = "accepted"
    except RuntimeError as error:
        shapes["put"] = "refused"
    shapes["gradient"] = torch.autograd.grad(x[computed].sum(), x)[0].shape
    print(json.dumps(shapes))
"""

HARDEST = """
    import json, torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def hardest(scores, target):  # of the pixels that have a label
        losses = nn.functional.cross_entropy(scores, target, ignore_index=255, reduction="none").flatten()
        found = losses[target.flatten() != 255].sort(descending=True).values
        return found[: len(found) // 4].mean() if len(found) else scores.new_tensor(0.0)

    data = TensorDataset(torch.rand(64, 3, 64, 64), torch.randint(0, 19, (64, 64, 64)))
    model = nn.Conv2d(3, 19, 3, padding=1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in DataLoader(data, 8):
        loss = hardest(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(json.dumps(torch.cuda.max_memory_allocated()))
"""


def test_full_masks_select_everything(job: Job) -> None:
    finished = job.run(SHAPES, card=2 * GIB, VRAMFIT_MASKS="full")
    shapes = finished.output()
    assert shapes == {
        "index": [24],
        "rows": [4, 6],
        "part": [4, 6],
        "select": [24],
        "nonzero": [24, 2],
        "tuple": [[24], [24]],
        "three": [4, 6],
        "put": "accepted",
        "gradient": [4, 6],
    }
    assumed = [note["text"] for note in finished.of_kind("assumed") if "masks" in note["text"]]
    assert len(assumed) == 1, "it is said once"
    lines = {note["line"] for note in finished.of_kind("data_read") if note["what"] == "a size (boolean mask)"}
    assert len(lines) == 5 + 1, "index, rows, part, twice put, gradient"


CHECKED = """
    import json, torch
    from torch.distributions import Normal
    x = torch.rand(8, 4, device="cuda")
    checks = [bool((x >= 0).all()), torch.isfinite(x).all().item(), bool(torch.isfinite(x.sum()))]
    checks += [bool(torch.all(x < 2)), bool((x < 0).any()), bool(torch.isnan(x.sum()))]
    checks.append(torch.allclose(x * 1, x))
    Normal(x.mean(), x.std()).rsample()  # refused unless the scale is found positive
    print(json.dumps(checks))
"""


def test_checks_of_values_pass(job: Job) -> None:
    assert job.run(CHECKED, card=2 * GIB, VRAMFIT_MASKS="full").output() == [True] * 4 + [False] * 2 + [True]
    refused = job.run(CHECKED, card=2 * GIB)
    assert refused.exit_code == 1 and "to satisfy the constraint" in refused.stderr


def test_without_them_a_mask_selects_nothing(job: Job) -> None:
    shapes = job.run(SHAPES, card=2 * GIB).output()
    assert shapes["index"] == [0] and shapes["nonzero"] == [0, 2]
    assert shapes["put"] == "refused"


def test_the_peak_is_that_of_computed_values(job: Job) -> None:
    failed = job.run(HARDEST, card=2 * GIB, steps="2")
    assert failed.exit_code == 1 and "does not require grad" in failed.stderr
    full = job.run(HARDEST, card=2 * GIB, steps="2", VRAMFIT_MASKS="full")
    computed = job.run(HARDEST, card=2 * GIB, steps="2", VRAMFIT_VALUES="cpu")
    assert full.output() == computed.output()
