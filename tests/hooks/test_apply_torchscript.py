"""Networks that torch.jit.trace or torch.jit.script made: plans train them as they do others, or say why not."""

from __future__ import annotations

from typing import Any

import pytest
from hooked_job import Job
from small_training import assert_close, training

pytestmark = pytest.mark.by_release

MADE = {
    "trace": "torch.jit.trace(nn.Sequential(*layers), torch.zeros(8, 6))",
    "script": "torch.jit.script(nn.Sequential(*layers))",
    "a block": "nn.Sequential(torch.jit.script(layers[0]), *layers[1:])",
}
OFFLOAD = {"id": "offload_activations", "at_least": 0}


def of_network(made: str) -> str:
    return (
        training().replace("nn.Sequential(*layers)", MADE[made]).replace("torch.use_deterministic_algorithms(True)", "")
    )


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize(
    ("technique", "reason"),
    [
        ({"id": "split_forward", "parts": 2}, "TorchScript runs the network"),
        ({"id": "lora", "rank": 1}, "is within a ScriptModule before its optimizer is made"),
        ({"id": "half_weights"}, "is within a ScriptModule before its optimizer is made"),
    ],
)
def test_what_works_within_a_network_is_refused(job: Job, made: str, technique: dict[str, Any], reason: str) -> None:
    assert reason in job.run(of_network(made), technique, card=2 << 30).of_kind("plan_refused")[0]["text"]


@pytest.mark.parametrize(
    ("made", "technique", "reason"),
    [
        ("a block", {"id": "checkpoint", "modules": ["0"]}, "TorchScript runs the network"),
        ("script", {"id": "checkpoint", "modules": ["0"]}, "0 is within a network of TorchScript"),
        ("script", {**OFFLOAD, "modules": ["0"]}, "0 is within a network of TorchScript"),
        # The network that was traced has it, and is called for that alone.
        ("trace", {"id": "checkpoint", "modules": ["0"]}, "never came to a place where it could be applied"),
    ],
)
def test_modules_in_it_are_not_called_by_name(job: Job, made: str, technique: dict[str, Any], reason: str) -> None:
    done = job.run(of_network(made), technique, card=2 << 30)
    assert reason in done.of_kind("plan_refused")[0]["text"]
    assert not done.of_kind("plan_applied")


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("technique", [OFFLOAD, {"id": "micro_batch", "micro_batch": 4, "accumulate": 2}])
def test_what_works_around_it_trains_it_the_same(job: Job, made: str, technique: dict[str, Any]) -> None:
    script = of_network(made).replace("x, y in", "x, y in map(lambda b: [t.cuda() for t in b],").replace(
        "batch_size=8)", "batch_size=8))").replace("optimizer = ", "model.cuda(); optimizer = ")  # fmt: skip
    plain = job.run(script, card=2 << 30, VRAMFIT_VALUES="cpu").output()
    done = job.run(script, technique, card=2 << 30, VRAMFIT_VALUES="cpu")
    assert_close(done.output()["values"], plain["values"])
    assert done.of_kind("plan_applied")


EVALUATED = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.body = nn.Embedding(100, 64), nn.Sequential(nn.Linear(64, 256), nn.Linear(256, 64))
        def forward(self, x):
            return self.body(self.words(x))
    x = torch.randint(0, 100, (8, 5))
    net = Net().eval()
    {made}
    with torch.no_grad():
        out = net(x.cuda())
    print(json.dumps(out.flatten().tolist()))
"""
BEFORE_IT_IS_USED = {
    "trace": "net = torch.jit.trace(net, x).cuda()",
    "script": "net = torch.jit.script(net).cuda()",
}
LATER = {
    "trace": "net.cuda(); net = torch.jit.trace(net, x.cuda())",
    "script": "net.cuda(); net = torch.jit.script(net)",
    "a block": "net.cuda(); net.body = torch.jit.script(net.body)",
    "an evaluated one": "net.cuda(); torch.no_grad()(net)(x.cuda()); net = torch.jit.script(net)",
}
OF_WEIGHTS = [
    {"id": "offload_weights"},
    {"id": "int8_weights"},
    {"id": "int4_weights"},
    {"id": "half_evaluation", "weights": True},
]


@pytest.mark.parametrize("technique", OF_WEIGHTS, ids=lambda technique: technique["id"])
@pytest.mark.parametrize("made", BEFORE_IT_IS_USED)
def test_its_weights_are_its_own(job: Job, made: str, technique: dict[str, Any]) -> None:
    script = EVALUATED.format(made=BEFORE_IT_IS_USED[made])
    done = job.run(script, technique, card=2 << 30, VRAMFIT_VALUES="cpu")
    assert done.only("plan_refused")["text"] == "the network is TorchScript, which reads its weights by itself"
    assert not done.of_kind("plan_applied")
    assert done.exit_code == 3


@pytest.mark.parametrize("technique", OF_WEIGHTS, ids=lambda technique: technique["id"])
@pytest.mark.parametrize("made", LATER)
def test_it_is_not_made_of_a_network_whose_weights_are_kept_otherwise(
    job: Job, made: str, technique: dict[str, Any]
) -> None:
    done = job.run(EVALUATED.format(made=LATER[made]), technique, card=2 << 30, VRAMFIT_VALUES="cpu")
    assert done.only("plan_refused")["text"].startswith("TorchScript is made of the network, ")
    assert done.exit_code == 3


@pytest.mark.parametrize("made", [*LATER.values(), *BEFORE_IT_IS_USED.values()])
def test_it_is_evaluated_in_half_precision(job: Job, made: str) -> None:
    whole = job.run(EVALUATED.format(made=made), card=2 << 30, VRAMFIT_VALUES="cpu").output()
    done = job.run(EVALUATED.format(made=made), {"id": "half_evaluation"}, card=2 << 30, VRAMFIT_VALUES="cpu")
    assert done.output() == pytest.approx(whole, abs=0.05)
    assert done.only("plan_applied")


LOSSES = """
    import json, torch
    import torch.nn.functional as F
    from torch import nn
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 500)).cuda()
    {made}
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(2):
        x, y = torch.randn(64, 64).cuda(), torch.randint(0, 500, (64,)).cuda()
        optimizer.zero_grad()
        loss(net, x, y).backward()
        optimizer.step()
    print(json.dumps({{"values": {{str(p.shape): p.tolist() for p in net.parameters()}}}}))
"""
FUNCTION = "def of(a, b: torch.Tensor): return F.cross_entropy(a, b)"
OF_LOSSES = {
    "a function": f"{FUNCTION}\n    of = torch.jit.script(of); loss = lambda net, x, y: of(net(x), y)",
    "a module": "of = torch.jit.script(nn.CrossEntropyLoss()); loss = lambda net, x, y: of(net(x), y)",
    "a trace": f"{FUNCTION}\n    of = torch.jit.trace(of, (torch.randn(64, 500).cuda(), torch.zeros(64).long().cuda()))"
    "; loss = lambda net, x, y: of(net(x), y)",
    "a network": "net = torch.jit.script(net); loss = lambda net, x, y: F.cross_entropy(net(x), y)",
}
CHUNKS = {"id": "chunked_loss", "chunk_bytes": 1 << 14}
REASONS = {
    False: "the script's losses are TorchScript, which works them out by itself",
    True: "the script has TorchScript made, which would be given logits that are not there yet",
}


@pytest.mark.parametrize("made", OF_LOSSES)
@pytest.mark.parametrize("linear", [False, True])
def test_a_loss_in_it_is_in_no_chunks(job: Job, made: str, linear: bool) -> None:
    script = LOSSES.format(made=OF_LOSSES[made])
    done = job.run(script, {**CHUNKS, "linear": 500} if linear else CHUNKS, card=2 << 30, VRAMFIT_VALUES="cpu")
    if made != "a network":
        assert done.only("plan_refused")["text"] == REASONS[linear]
    elif linear:
        text = "TorchScript works out the last layer, so its logits are there as a whole"
        assert done.only("plan_refused")["text"] == text
    else:
        plain = job.run(script, card=2 << 30, VRAMFIT_VALUES="cpu").output()
        assert_close(done.output()["values"], plain["values"])
        assert done.only("plan_applied")


def test_a_loss_in_it_trains_in_parts_of_batches(job: Job) -> None:
    """Its source is read, where there is a function around it that looks at labels."""
    made = "of = torch.jit.script(nn.CrossEntropyLoss())\n    model ="
    script = training().replace("model =", made, 1)
    done = job.run(script, {"id": "micro_batch", "micro_batch": 4, "accumulate": 2})
    assert done.of_kind("plan_applied")
    assert done.exit_code == 0, done.stderr
