"""What waits on the host until backward wants it."""

from __future__ import annotations

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

# Trains a network that saves in many ways: in place, strided views, masks, indices, one tensor for several operators.
SAVES = """
    import json, torch
    from torch import nn
    {imports}
    torch.manual_seed(0)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.norm = nn.Linear(64, 256), nn.BatchNorm1d(256)
            self.block = nn.TransformerEncoderLayer(256, 4, 256, dropout=0.1, batch_first=True)
            self.pool, self.head = nn.MaxPool1d(2), nn.Linear(256, 3)
        def forward(self, x):
            x = self.block(self.embed(x).relu_())
            x = self.pool(self.norm(x.transpose(1, 2))).transpose(1, 2)
            {inside}
            return self.head(x * x)
    model = Net().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, held = torch.randn(8, 256, 64, device="cuda"), []
    {before}
    for step in range(2):
        {around}
        loss = out.square().mean()
        held.append(torch.cuda.memory_allocated())
        optimizer.zero_grad(); loss.backward(); optimizer.step()
    values = {{name: value.tolist() for name, value in model.state_dict().items()}}
    print(json.dumps({{"values": values, "held": held}}))
"""
OFFLOAD = {"id": "offload_activations"}


def saves(
    around: str = "out = model(x)", before: str = "pass", inside: str = "pass", imports: str = "import copy"
) -> str:
    return SAVES.format(around=around, before=before, inside=inside, imports=imports)


@pytest.mark.parametrize(
    "plan",
    [
        (OFFLOAD,),
        ({**OFFLOAD, "modules": ["block"]},),
        ({**OFFLOAD, "at_least": 0},),
        (OFFLOAD, {"id": "checkpoint", "modules": ["block"]}),
    ],
)
def test_what_waits_on_the_host_trains_to_the_same_bits(job: Job, plan: tuple) -> None:
    plain = job.run(saves(), card=4 << 30, VRAMFIT_VALUES="cpu").output()
    finished = job.run(saves(), *plan, card=4 << 30, VRAMFIT_VALUES="cpu")
    assert finished.output()["values"] == plain["values"]
    assert finished.output()["held"][1] < 0.7 * plain["held"][1]
    assert OFFLOAD["id"] in [note["id"] for note in finished.of_kind("plan_applied")]
    assert not finished.of_kind("plan_refused")


def test_what_a_gradient_penalty_differentiates_twice_comes_back_twice(job: Job) -> None:
    inside = "slope, = torch.autograd.grad(x.square().sum(), x, create_graph=True); x = x + slope.square()"
    plain = job.run(saves(inside=inside), card=4 << 30, VRAMFIT_VALUES="cpu").output()
    finished = job.run(saves(inside=inside), OFFLOAD, card=4 << 30, VRAMFIT_VALUES="cpu")
    assert finished.output()["values"] == plain["values"]


def test_masks_and_indices_on_their_way_to_the_host_decide_nothing(job: Job) -> None:
    for values in ("zeros", "tracked"):
        finished = job.run(saves(), OFFLOAD, card=4 << 30, VRAMFIT_VALUES=values)
        assert finished.only("plan_applied") and not finished.of_kind("data_read")


def test_a_write_to_what_was_saved_is_found_where_it_stayed_on_the_card(job: Job) -> None:
    inside = "y = x[:1, :1, :1].sigmoid(); y.add_(1); x = x + y.sum()"
    for plan in ((), (OFFLOAD,)):
        finished = job.run(saves(inside=inside), *plan, card=4 << 30)
        assert "has been modified by an inplace operation" in finished.stderr


OFFLOAD_REFUSED = {
    "the model is compiled": {"before": "model.compile(backend='eager')"},
    "hooks on saved tensors around": {"around": "with torch.autograd.graph.save_on_cpu(): out = model(x)"},
    "hooks on saved tensors around the model's": {
        "imports": "from torch.utils.checkpoint import checkpoint",
        "around": "out = checkpoint(model, x, use_reentrant=False)",
    },
    "uses torch.func": {"inside": "x = x + torch.func.grad(lambda y: y.square().sum())(x)"},
    "nothing that the model saves": {"before": "x = torch.randn(1, 2, 64, device='cuda')"},
}


@pytest.mark.parametrize("reason", OFFLOAD_REFUSED)
def test_where_saved_tensors_are_not_the_plans_to_move_it_is_refused(job: Job, reason: str) -> None:
    finished = job.run(saves(**OFFLOAD_REFUSED[reason]), OFFLOAD, card=4 << 30)
    assert finished.exit_code == 3
    assert reason in finished.of_kind("plan_refused")[0]["text"]


def test_a_module_to_offload_that_is_not_there_is_refused(job: Job) -> None:
    finished = job.run(saves(), {**OFFLOAD, "modules": ["backbone"]}, card=4 << 30)
    assert "no model of the script has a module backbone" in finished.only("plan_refused")["text"]
