"""A network that works on its batch in parts trains the same, in loops that no micro-batches can be given to."""

from __future__ import annotations

import json

import pytest
from hooked_job import Job
from small_training import assert_close, training

pytestmark = pytest.mark.by_release

PARTS = {"id": "split_forward", "parts": 2}


def test_parts_of_a_batch_train_as_the_whole(job: Job) -> None:
    plain = job.run(training()).output()
    finished = job.run(training(), PARTS)
    assert_close(finished.output()["values"], plain["values"])
    assert finished.output()["shapes"] == plain["shapes"], "the loop sees whole batches"
    assert finished.only("plan_applied")["text"].startswith("Sequential works on its batch of 8 in 2 parts")


@pytest.mark.parametrize("middle", ["", "nn.Dropout(0.3),"])
def test_that_random_numbers_are_others_is_said(job: Job, middle: str) -> None:
    told = [note["text"] for note in job.run(training(middle), PARTS).of_kind("plan_effect")]
    assert any("(dropout) is drawn for each part" in text for text in told) == bool(middle)


# Batches of no loader; two optimizers that step in turn; a loss over the pairs of a batch, a number for a loss,
# gradients of inputs, a network within one that is made when the optimizers are there.
LOOP = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.shapes = nn.Linear(6, 12), nn.Linear(12, 4), []
        def forward(self, x, scale, *, more=None):
            self.shapes.append(len(x))
            x = torch.tanh(self.first(x)) * scale
            return {"out": self.second(x if more is None else x + more), "size": "small", "none": None}
    class Loss(nn.Module):
        def __init__(self, net):
            super().__init__()
            self.net = net
        def forward(self, x, scale):
            return self.net(x, scale)["out"].square().mean()
    net = Net()
    whole = Loss(net) if MODE == "number" else None
    optimizers = [torch.optim.SGD(net.first.parameters(), 0.1), torch.optim.Adam(net.second.parameters(), 0.1)]
    batches = torch.randn(5, 7, 6)
    for step in range(5):
        x = batches[step]
        if MODE == "pairs":
            out = net(x, torch.ones(12), more=torch.full((7, 12), 0.1))["out"]
            loss = (out @ out.T - torch.eye(7)).square().sum()
        elif MODE == "inputs":
            x = x.clone().requires_grad_()
            out = net(x * 2, torch.ones(12))["out"].sum()
            (slope,) = torch.autograd.grad(out, x, create_graph=True)
            loss = out.square() + slope.square().sum()
        else:
            loss = (whole or Loss(net))(x, torch.ones(12))
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        optimizers[step % 2].step()
    print(json.dumps({"values": {name: value.tolist() for name, value in net.state_dict().items()},
                      "shapes": net.shapes}))
"""


@pytest.mark.parametrize("mode", ["pairs", "number", "inputs", "wrapped late"])
def test_loops_that_no_parts_of_batches_can_be_given_to_train_the_same(job: Job, mode: str) -> None:
    script = f"    MODE = {mode!r}\n{LOOP}"
    plain = job.run(script).output()
    finished = job.run(script, PARTS)
    assert_close(finished.output()["values"], plain["values"])
    assert finished.output()["shapes"] == [4] * 5, "7 samples are 4 and 3; what it keeps is the first part's"
    told = [note["text"] for note in finished.of_kind("plan_effect")]
    assert any("taken for a mean" in text for text in told) == (mode == "number")
    assert any("is that of the first part" in text for text in told)


STATEFUL = {
    "a counter of its own": ("self.calls = 1.0", "self.calls *= 1.5; x = x * self.calls"),
    "numpy": ("import numpy; self.draw = numpy.random.rand", "x = x * float(self.draw())"),
    "random": ("import random; self.draw = random.random", "x = x * self.draw()"),
    "a small buffer": (
        "self.register_buffer('scale', torch.ones(12))", "x = x * self.scale.clone(); self.scale.mul_(0.5)"
    ),
}  # fmt: skip
BLOCK = """
    import random, numpy, torch
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(12, 12)
            {made}
        def forward(self, x):
            {changed}
            return torch.tanh(self.inner(x))
    random.seed(1); numpy.random.seed(1)
"""


@pytest.mark.parametrize("name", STATEFUL)
def test_what_a_forward_counts_or_draws_is_counted_and_drawn_once_for_a_batch(job: Job, name: str) -> None:
    made, changed = STATEFUL[name]
    script = BLOCK.format(made=made, changed=changed) + training("Block(), nn.Tanh(),")
    plain = job.run(script).output()
    assert_close(job.run(script, PARTS).output()["values"], plain["values"])


SHARDED = """
    import os, torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
    os.environ |= {"MASTER_ADDR": "localhost", "RANK": "0", "WORLD_SIZE": "1"}
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8))
    mesh = init_device_mesh("cpu", (1,))
    SHARD
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(torch.randn(16, 8), batch_size=8)
    for x in loader:
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    dist.destroy_process_group()
"""


@pytest.mark.parametrize(
    "shard",
    [
        "fully_shard(net, mesh=mesh)",
        "fully_shard(net[2], mesh=mesh)",
        "net = FullyShardedDataParallel(net, device_id='cpu')",
    ],
    ids=["whole", "a layer", "wrapped"],
)
def test_networks_that_ranks_share_are_refused(job: Job, shard: str) -> None:
    finished = job.run(SHARDED.replace("SHARD", shard), PARTS)
    assert "parameters are sharded" in finished.only("plan_refused")["text"]
    assert finished.exit_code != 0


REFUSED = {
    "the network keeps a tensor of its forward in Block.last": (
        "self.last = None",
        "self.last = x.mean(0)",
        "Block(),",
    ),
    "for 4 samples the network returns 3x4: its first": ("pass", "return x.T", "nn.Linear(12, 3), Block()]"),
    "the network returns a set, of which": ("pass", "return {1}", "nn.Linear(12, 3), Block()]"),
    "Sequential fails on a part of its batch: RuntimeError: The size of tensor": (
        "self.state = torch.ones(2, 8, 12)",
        "x = (x + self.state).sum(0)",
        "Block(),",
    ),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_parts_of_a_batch_can_not_give_is_refused(job: Job, words: str) -> None:
    made, changed, place = REFUSED[words]
    script = training(place) if place.endswith(",") else training().replace("nn.Linear(12, 3)]", place)
    finished = job.run(BLOCK.format(made=made, changed=changed) + script, PARTS)
    assert words in finished.only("plan_refused")["text"]
    assert finished.exit_code != 0


SHAPES = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    class Mix(nn.Module):  # along the rows, which are no samples
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(3, 3)
        def forward(self, rows):
            return self.inner(rows) - rows.mean(0)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.mix = Mix()
        def forward(self, x):
            if len(x) == 1:
                return self.mix(x[0]).sum()[None]
            return torch.stack([self.mix(rows).sum() for rows in x])
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    shapes = []
    for size in (2, 1, 2):
        out = net(torch.randn(size, 4, 3))
        shapes.append(list(out.shape))
        optimizer.zero_grad()
        (out ** 2).sum().backward()
        optimizer.step()
    print(json.dumps({"values": {name: value.tolist() for name, value in net.state_dict().items()}, "shapes": shapes}))
"""


def test_a_batch_of_one_is_whole_and_one_number_a_sample_is_no_mean(job: Job) -> None:
    plain = job.run(SHAPES).output()
    finished = job.run(SHAPES, PARTS)
    assert_close(finished.output()["values"], plain["values"])
    assert finished.output()["shapes"] == plain["shapes"] == [[2], [1], [2]]
    assert not any("mean" in note["text"] for note in finished.of_kind("plan_effect"))


EVALUATION = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.shapes = nn.Linear(6, 3), []
        def forward(self, x, state=None):
            self.shapes.append(len(x))
            return self.inner(x)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    def train():
        net.train()
        net(torch.randn(8, 6)).sum().backward()
        optimizer.step()
    def evaluate(**more):
        net.eval()
        net.shapes.clear()
        with torch.no_grad():
            return len(net(torch.randn(8, 6), **more)), list(net.shapes)
    before = evaluate()
    train()
    print(json.dumps([before, evaluate(), evaluate(state={}), evaluate(state=torch.ones(1))]))
"""


def test_evaluations_work_in_parts_where_they_call_the_network_as_training_does(job: Job) -> None:
    before, like_training, with_container, with_tensor = job.run(EVALUATION, PARTS).output()
    assert before == [8, [8]], "nothing tells yet what the network is called with"
    assert like_training == [8, [4, 4]]
    assert with_container == with_tensor == [8, [8]], "a state or a cache might fill"


# The graph of a batch is made of what its parts get: the rest comes and goes part by part.
HELD = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    net = nn.Sequential(*(nn.Linear(64, 64) for _ in range(40))).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    x = torch.randn(16384, 64, device="cuda")
    for step in range(3):
        torch.cuda.reset_peak_memory_stats()
        net(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    print(json.dumps({"peak": torch.cuda.max_memory_allocated()}))
"""


def test_activations_of_one_part_are_there_at_a_time(job: Job) -> None:
    plain = job.run(HELD, card=2 << 30).output()["peak"]
    fourth = job.run(HELD, {"id": "split_forward", "parts": 4}, card=2 << 30).output()["peak"]
    assert fourth < plain / 2.5


ALONG = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.LSTM(6, 6) if LAYER == "LSTM" else nn.TransformerEncoderLayer(6, 2, 12, 0.0)
            self.last = nn.Linear(6, 3)
        def forward(self, x):
            x = x if FIRST == "sequences" else x.transpose(0, 1)
            x = self.inner(x)
            x = self.last(x[0] if isinstance(x, tuple) else x)
            return x if FIRST == "sequences" else x.transpose(0, 1)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for step in range(3):
        optimizer.zero_grad()
        net(torch.randn(8, OTHER, 6)).square().mean().backward()
        optimizer.step()
    print(json.dumps({"values": {name: value.tolist() for name, value in net.state_dict().items()}}))
"""


@pytest.mark.parametrize("layer", ["LSTM", "Transformer"])
@pytest.mark.parametrize("other", [5, 4, 8])
def test_that_the_first_dimension_is_of_sequences_is_found(job: Job, layer: str, other: int) -> None:
    def script(first: str) -> str:
        return f"    LAYER, FIRST, OTHER = {layer!r}, {first!r}, {other}\n{ALONG}"

    of_samples = script("samples")
    assert_close(job.run(of_samples, PARTS).output()["values"], job.run(of_samples).output()["values"])
    refused = job.run(script("sequences"), PARTS).only("plan_refused")["text"]
    assert "is that of sequences, not of samples" in refused


def test_that_batch_norms_see_parts_is_said(job: Job) -> None:
    finished = job.run(training("nn.BatchNorm1d(12),"), PARTS)
    (told,) = [note for note in finished.of_kind("plan_effect") if note["what"] == "batch_statistics"]
    assert told["text"].startswith("batch normalisation sees 4 samples at once")


def test_a_comparison_gives_batch_norms_the_same_parts_without_the_plan(job: Job) -> None:
    script = training("nn.BatchNorm1d(12),")
    asked = json.dumps({"steps": 99, "parts": 2})
    in_parts = job.run(script, VRAMFIT_VERIFY=asked).output()["values"]
    split = job.run(script, PARTS, VRAMFIT_VERIFY=json.dumps({"steps": 99})).output()["values"]
    for values in (in_parts, split):
        del values["2.num_batches_tracked"]
    assert_close(in_parts, split)


RANKS = """
    import json, os, torch
    from torch import nn
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
    both = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(both.parameters(), 0.1)
    for step in range(3):
        both(torch.randn(8, 6)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    print(json.dumps({"values": {name: value.tolist() for name, value in net.state_dict().items()}}))
"""


def test_networks_of_ranks_work_in_parts_within_what_counts_their_steps(job: Job) -> None:
    plain = job.run(RANKS).output()["values"]
    finished = job.run(RANKS, PARTS)
    assert_close(finished.output()["values"], plain)
    assert finished.only("plan_applied")["text"].startswith("Sequential works on its batch of 8")


# What the network of small_training does between its layers, where values are computed.
MIXING = {
    "a mean over the batch": "y - y.mean(0)",
    "attention over the batch": "torch.softmax(y @ y.T, 1) @ y",
    "places in the batch": "y + torch.arange(len(y))[:, None]",
}
NET = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.drop, self.last = nn.Linear(6, 8), nn.Dropout(DROP), nn.Linear(8, 3)
            self.calls = 0
            self.register_buffer("seen", torch.zeros(1))
        def forward(self, x):
            self.calls += 1
            self.seen += 1
            y = self.drop(torch.tanh(self.first(x)))
            return self.last(MIX), y > 0
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for step in range(2):
        out, is_positive = net(torch.randn(SAMPLES, 6))
        optimizer.zero_grad()
        out.square().mean().backward()
        optimizer.step()
    print(json.dumps({"values": {name: value.tolist() for name, value in net.state_dict().items()},
                      "calls": net.calls, "next": torch.rand(1).item()}))
"""


def mixing(mix: str, drop: float = 0.0, samples: int = 8) -> str:
    return NET.replace("DROP", str(drop)).replace("MIX", mix).replace("SAMPLES", str(samples))


@pytest.mark.parametrize("mix", MIXING)
@pytest.mark.parametrize(("drop", "samples"), [(0.0, 8), (0.3, 8), (0.0, 2)])
def test_samples_that_meet_in_the_network_are_refused(job: Job, mix: str, drop: float, samples: int) -> None:
    done = job.run(mixing(MIXING[mix], drop, samples), PARTS, VRAMFIT_VALUES="cpu")
    assert "hangs on the others of its batch" in done.of_kind("plan_refused")[0]["text"]
    assert done.exit_code == 3


@pytest.mark.parametrize("samples", [8, 2])
def test_samples_that_do_not_meet_are_compared_without_a_trace(job: Job, samples: int) -> None:
    plain = job.run(mixing("y", samples=samples), VRAMFIT_VALUES="cpu").output()
    done = job.run(mixing("y", samples=samples), PARTS, VRAMFIT_VALUES="cpu")
    assert_close(done.output()["values"], plain["values"])
    assert (done.output()["calls"], done.output()["next"]) == (plain["calls"], plain["next"])
