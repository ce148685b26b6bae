"""Weights that wait in host memory between forwards of an evaluation: the same outputs, less memory, and refusals."""

from __future__ import annotations

from typing import Any

import pytest
from hooked_job import Finished, Job

pytestmark = pytest.mark.by_release

CARD = 2 << 30
PLAN = {"id": "offload_weights"}

SCRIPT = """
    import copy, io, json, torch
    from torch import nn
    torch.manual_seed(0)
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.attend = nn.LayerNorm(128), nn.MultiheadAttention(128, 4, batch_first=True)
            self.up, self.down = nn.Linear(128, 512), nn.Linear(512, 128)
        def forward(self, x):
            y = self.norm(x)
            x = x + self.attend(y, y, y, need_weights=False)[0]
            return x + self.down(self.up(x).relu())
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(64, 128), nn.Parameter(torch.randn(32, 128))
            self.body = nn.Sequential(*(Block() for _ in range(6)))
            self.head = nn.Linear(128, 64, bias=False)
            self.head.weight = self.words.weight
            self.register_buffer("scale", torch.ones(1))
        def forward(self, x):
            {forward}
    {make}
    words = torch.arange(64).reshape(2, 32).to(next(model.parameters()).device)
    held = torch.cuda.memory_allocated()
    {before}
    model.eval()
    with torch.{mode}():
        model(words)
        torch.cuda.reset_peak_memory_stats()
        out = model(words)
    peak = torch.cuda.max_memory_allocated()
    {after}
    print(json.dumps({{"out": out.tolist(), "held": held, "peak": peak,
                       "device": str(next(model.parameters()).device)}}))
"""
FORWARD = "return self.head(self.body(self.words(x) + self.places)) * self.scale"
WEIGHTS = 4 * 6 * (3 * 128 * 128 + 128 * 128 + 2 * 128 * 512)  # of the blocks
BLOCK = 4 * 128 * 512 + 4 * 4 * 128 * 128  # more than a module has of its own
MOVED = "model = Net().cuda()"


def run(
    job: Job,
    *plans: dict[str, Any],
    make: str = MOVED,
    forward: str = FORWARD,
    before: str = "",
    after: str = "",
    mode: str = "no_grad",
) -> Finished:
    script = SCRIPT.format(make=make, forward=forward, before=before, after=after, mode=mode)
    return job.run(script, *plans, card=CARD, VRAMFIT_VALUES="cpu")


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
@pytest.mark.parametrize(
    "make",
    [
        MOVED,
        "model = Net().to('cuda:0', torch.float64)",
        "model = Net().cuda().half().float()",
        "torch.set_default_device('cuda'); model = Net()",
    ],
)
def test_outputs_are_the_same_to_the_bit_and_one_modules_weights_are_there(job: Job, make: str, mode: str) -> None:
    plain = run(job, make=make, mode=mode).output()
    finished = run(job, PLAN, make=make, mode=mode)
    kept = finished.output()
    assert kept["out"] == plain["out"]
    assert kept["device"] == "cuda:0"
    assert plain["peak"] - kept["peak"] > WEIGHTS - BLOCK
    if "default" not in make:
        assert plain["held"] - kept["held"] > WEIGHTS, "before the evaluation, too"
    assert finished.only("plan_applied")["text"].startswith("the network's weights wait in host memory")
    assert not finished.of_kind("hook_failed")


def test_checkpoints_are_read_and_written_while_weights_wait(job: Job) -> None:
    before = "torch.manual_seed(1); print(model.load_state_dict(Net().state_dict()))"
    after = """
    now = torch.cuda.memory_allocated()
    state = model.state_dict()
    assert torch.cuda.memory_allocated() == now
    plain = Net()
    plain.load_state_dict(state)
    plain.cuda()
    for other in (plain, copy.deepcopy(model)):
        with torch.no_grad(): torch.testing.assert_close(other.eval()(words), out, rtol=0, atol=0)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    torch.save(model, file)
    """
    plain = run(job, before=before).output()
    finished = run(job, PLAN, before=before, after=after)
    assert finished.output()["out"] == plain["out"]
    assert "All keys matched" in finished.stdout


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("weights", [False, True])
def test_half_precision_goes_with_weights_that_wait(job: Job, weights: bool, order: int) -> None:
    half = {"id": "half_evaluation", "dtype": "bfloat16", "weights": weights}
    alone = run(job, half).output()
    both = run(job, *[half, PLAN][::order])
    assert both.output()["out"] == alone["out"]
    assert alone["peak"] - both.output()["peak"] > (WEIGHTS - BLOCK) / (2 if weights else 1)
    assert len(both.of_kind("plan_applied")) == 2


def test_what_can_not_wait_stays_and_the_network_works(job: Job) -> None:
    """Recurrent layers, lists of parameters, and what a forward makes of a parametrization."""
    make = """class Other(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.walk = nn.Embedding(64, 128), nn.LSTM(128, 128, batch_first=True)
            self.lists = nn.ParameterList([nn.Parameter(torch.randn(128, 128))])
            self.norm = nn.utils.parametrizations.weight_norm(nn.Linear(128, 128))
        def forward(self, x):
            return self.norm(self.walk(self.words(x))[0] @ self.lists[0])
    model = Other().cuda()"""
    plain = run(job, make=make).output()
    kept = run(job, PLAN, make=make).output()
    assert kept["out"] == plain["out"]
    assert kept["peak"] < plain["peak"]


TRAIN = """
    {first}optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(3):
        model.train()
        optimizer.zero_grad(); model(words).square().mean().backward(); optimizer.step()
        {first}model.eval()
        with torch.no_grad(): print(model(words).mean().item())
        sum(p.abs().sum() for p in model.parameters()).item()
"""


def test_a_training_goes_on_with_the_same_parameters(job: Job) -> None:
    before = TRAIN.format(first="")
    plain = run(job, before=before)
    finished = run(job, PLAN, before=before, after=TRAIN.format(first="pass; "))
    again = run(job, before=before, after=TRAIN.format(first="pass; "))
    assert finished.output()["out"] == plain.output()["out"]
    assert finished.stdout.splitlines()[:-1] == again.stdout.splitlines()[:-1]
    assert plain.output()["peak"] - finished.output()["peak"] > WEIGHTS - BLOCK


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (
            {"forward": "return nn.functional.linear(self.body(self.words(x)), self.head.weight)"},
            ".weight is read outside of its own module's forward, by linear",
        ),
        ({"forward": f"self.body[0].up.weight.mul_(2); {FORWARD}"}, "up.weight is read outside"),
        ({"forward": f"self.places.mul_(2); {FORWARD}"}, "places is written to by the forward of Net"),
        ({"forward": f"self.places.data.mul_(2); {FORWARD}"}, "places is written to by the forward of Net"),
        ({"mode": "enable_grad"}, "evaluates with gradients on"),
        ({"before": "model = nn.DataParallel(model)"}, "wrapped in DataParallel"),
        ({"make": "model = Net(); model.head = torch.jit.script(nn.Linear(128, 64)); model.to(0)"}, "TorchScript"),
        ({"before": "model = nn.Sequential(nn.Embedding(64, 2), nn.Linear(2, 2)).cuda()"}, "no weights to speak of"),
        (
            {
                "make": "torch.set_default_device('cuda'); model = Net()",
                "before": "view = model.body[0].up.weight.detach()",
            },
            "share the memory of body.0.up.weight",
        ),
    ],
)
def test_what_weights_can_not_wait_for_is_refused(job: Job, told: dict[str, str], reason: str) -> None:
    finished = run(job, PLAN, **told)
    assert reason in finished.of_kind("plan_refused")[0]["text"], finished.stderr
    assert finished.exit_code == 3


@pytest.mark.parametrize(
    "compiled", ["model.compile(backend='eager')", "model = torch.compile(model, backend='eager')"]
)
def test_compiled_networks_are_refused(job: Job, compiled: str) -> None:
    script = SCRIPT.format(make=MOVED, forward=FORWARD, before=compiled, after="", mode="no_grad")
    finished = job.run(script, PLAN, card=CARD)
    assert "the network is compiled" in finished.of_kind("plan_refused")[0]["text"], finished.stderr
