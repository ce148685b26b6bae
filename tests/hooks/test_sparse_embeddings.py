"""Gradients of embeddings that hold the rows alone that a step used (`sparse_embeddings`)."""

from __future__ import annotations

from typing import Any

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

CARD = 8 << 30
SCRIPT = """
    import copy, json, torch, torch.nn as nn
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.users, self.bag = nn.Embedding(5000, 16), nn.EmbeddingBag(3000, 16, mode="sum")
            self.head = nn.Linear(16, 1)

        def forward(self, x):
            return self.head(self.users(x).mean(1) + self.bag(x))

    net = Net().to(DEVICE)
    #made
    optimizer = torch.optim.OPTIMIZER
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    x = torch.randint(0, 2000, (8, 6), generator=torch.Generator().manual_seed(1)).to(DEVICE)
    x[0, 0] = x[1, 1]
    before = net.users.weight.detach().clone()
    for step in range(3):
        optimizer.zero_grad()
        net(x + step).square().mean().backward()
        kinds = [net.users.weight.grad.is_sparse, net.bag.weight.grad.is_sparse, net.head.weight.grad.is_sparse]
        optimizer.step()
        schedule.step()
        assert net.users.weight.grad is not None, "the script finds the gradients where they were"
    moved = (net.users.weight.detach() - before).abs().sum(1) > 0
    state = optimizer.state_dict()["state"]
    print(json.dumps({"sparse": kinds, "moved": int(moved.sum()), "weights": net.users.weight.double().sum().item(),
        "all": [p.detach().double().flatten()[:400].tolist() for p in net.parameters()], "states": len(state),
        "keys": sorted(state[0]) if state else []}))
"""
OWN, ADAM = {"id": "sparse_embeddings"}, {"id": "sparse_embeddings", "optimizer": "SparseAdam"}
SGD, ADAGRAD = "SGD(net.parameters(), lr=0.5)", "Adagrad(net.parameters(), lr=0.1)"
ADAMW = "AdamW(net.parameters(), lr=0.1, weight_decay=0.01)"


def script(optimizer: str, device: str = "cpu", made: str = "") -> str:
    text = SCRIPT if device == "cpu" else SCRIPT.replace('EmbeddingBag(3000, 16, mode="sum")', "Embedding(3000, 16)")
    text = text if device == "cpu" else text.replace("self.bag(x)", "self.bag(x).sum(1)")
    return text.replace("OPTIMIZER", optimizer).replace("DEVICE", repr(device)).replace("#made", made)


def apart(one: Any, other: Any) -> float:
    return max(abs(a - b) for p, q in zip(one["all"], other["all"]) for a, b in zip(p, q))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("optimizer", [SGD, ADAGRAD])
def test_optimizers_that_take_them_train_the_same(job: Job, optimizer: str, device: str) -> None:
    values = {"card": CARD, "VRAMFIT_VALUES": "cpu"} if device == "cuda" else {}
    plain = job.run(script(optimizer, device), **values).output()
    finished = job.run(script(optimizer, device), OWN, **values)
    told = finished.output()
    assert (plain["sparse"], told["sparse"]) == ([False] * 3, [True, True, False])
    assert 0 < told["moved"] == plain["moved"] < 200
    assert apart(plain, told) < 1e-6
    assert finished.only("plan_applied")["text"] == (
        "2 embeddings of 128000 numbers have gradients of the rows that a step uses"
    )
    assert not finished.of_kind("plan_effect")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_sparse_adam_trains_the_rows_that_are_used(job: Job, device: str) -> None:
    values = {"card": CARD, "VRAMFIT_VALUES": "cpu"} if device == "cuda" else {}
    plain = job.run(script(ADAMW, device), **values).output()
    finished = job.run(script(ADAMW, device), ADAM, **values)
    told = finished.output()
    assert plain["moved"] == 5000, "weight decay moves all rows"
    assert 0 < told["moved"] < 200
    assert told["states"] == 4 and told["keys"] == ["exp_avg", "exp_avg_sq", "step"]
    assert "SparseAdam trains them instead of AdamW" in finished.only("plan_effect")["text"]


def test_its_steps_are_those_of_sparse_adam_beside_adam(job: Job) -> None:
    by_hand = """class Both:
        def __init__(self):
            self.own = torch.optim.AdamW(net.head.parameters(), lr=0.1, weight_decay=0.01)
            self.rows = torch.optim.SparseAdam([net.users.weight, net.bag.weight], lr=0.1)
            self.plans = [torch.optim.lr_scheduler.StepLR(one, 1, gamma=0.5) for one in (self.own, self.rows)]
            net.users.sparse = net.bag.sparse = True
        def zero_grad(self):
            self.own.zero_grad(), self.rows.zero_grad()
        def step(self):
            self.own.step(), self.rows.step(), [one.step() for one in self.plans]
        def state_dict(self):
            return {"state": {}}
    """
    made = by_hand.replace("\n    ", "\n        ")[:-4].rstrip()
    with_both = script("Optimizer", made=made).replace("torch.optim.Optimizer", "Both()")
    with_both = with_both.replace("torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)", "optimizer.plans[0]")
    with_both = with_both.replace("        schedule.step()\n", "")
    expected = job.run(with_both).output()
    assert apart(expected, job.run(script(ADAMW), ADAM).output()) < 1e-9


def test_moments_that_a_script_loads_are_gone_on_with(job: Job) -> None:
    """Saved and loaded between two steps, the training is the same as without."""
    loading = "        optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))\n        optimizer.step()\n"
    plain = job.run(script(ADAMW), ADAM).output()
    loaded = job.run(script(ADAMW).replace("        optimizer.step()\n", loading), ADAM).output()
    assert apart(plain, loaded) < 1e-6


@pytest.mark.parametrize(
    ("optimizer", "plan", "made", "text"),
    [
        (
            "SGD(net.parameters(), lr=0.1, momentum=0.9)",
            OWN,
            "",
            "momentum in SGD moves rows that have no gradient, too",
        ),
        ("SGD(net.parameters(), lr=0.1, weight_decay=0.1)", OWN, "", "weight decay in SGD moves rows"),
        ("NAdam(net.parameters())", ADAM, "", "NAdam takes no sparse gradients"),
        ("Adam(net.parameters(), amsgrad=True)", ADAM, "", "amsgrad has no counterpart in SparseAdam"),
        (SGD, ADAM, "", "the plan is for Adam, the script has SGD"),
        (ADAMW, OWN, "", "the plan is for SGD or Adagrad, the script has AdamW"),
        (SGD, OWN, "net.tied = nn.Linear(16, 5000); net.tied.weight = net.users.weight; del net.bag", "the weights of"),
        ("SGD(net.head.parameters(), lr=0.1)", OWN, "", "the script made no optimizer for embeddings"),
    ],
)
def test_what_it_is_not_for_is_refused(job: Job, optimizer: str, plan: dict[str, Any], made: str, text: str) -> None:
    finished: Any = job.run(script(optimizer, made=made), plan)
    assert finished.only("plan_refused")["text"].startswith(text)
    assert finished.exit_code == 3


def test_weights_that_are_used_otherwise_end_the_job(job: Job) -> None:
    changed = script(SGD).replace("self.bag(x))", "self.bag(x)) + self.users.weight.sum() * 1e-3")
    changed = changed.replace("kinds = [", "kinds = 1 or [")
    finished = job.run(changed, OWN)
    assert "used otherwise too" in finished.only("plan_refused")["text"]


def test_what_it_would_be_for_is_told(job: Job) -> None:
    note = job.run(script(ADAMW, "cuda"), card=CARD).only("sparse_embeddings")
    assert note == {**note, "bytes": 512000, "touched_bytes": 2 * 48 * 64, "layers": 2, "same": False, "why_not": ""}
    assert job.run(script(SGD)).only("sparse_embeddings")["same"]
    assert (
        "momentum"
        in job.run(script("SGD(net.parameters(), lr=0.1, momentum=0.9)")).only("sparse_embeddings")["why_not"]
    )


def test_whose_memory_sparse_gradients_are_is_known(job: Job) -> None:
    finished = job.run(script(SGD, "cuda"), OWN, card=CARD)
    assert not finished.of_kind("hook_failed")
    tagged = {record.text for record in finished.records if record.kind == "tag" and record.a == 2}
    assert {"users.weight", "bag.weight", "head.weight"} <= tagged
