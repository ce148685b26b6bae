"""Channels taken out of a network before its optimizer is made, by torch-pruning (`prune`)."""

from __future__ import annotations

from typing import Any

import pytest
from hooked_job import Job

CARD = 8 << 30
SCRIPT = """
    import copy, json, torch, torch.nn as nn
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU())
            self.a = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU())
            self.b = nn.Conv2d(64, 64, 3, padding=1, groups=64)
            self.aux = nn.Conv2d(64, 5, 1)
            self.drop, self.head = nn.Dropout(0.5), nn.Linear(64, 10)

        def forward(self, x):
            x = self.stem(x)
            x = x + self.b(self.a(x))
            out = self.head(self.drop(x.mean((2, 3))))
            return (out, self.aux(x)) if self.training else out

    net = Net().to(DEVICE)
    parameters, keys = list(net.parameters()), list(net.state_dict())
    random = torch.get_rng_state()
    #before
    optimizer = torch.optim.AdamW(parameters, lr=1e-3)
    assert torch.equal(random, torch.get_rng_state()), "no random numbers of the script's are drawn"
    assert all(own is now for own, now in zip(parameters, net.parameters())), "parameters stay the objects they were"
    assert net.training and list(net.state_dict()) == keys
    assert DEVICE == "cuda" or net.stem[1].num_batches_tracked == 0, "no statistics are taken"
    x, y = torch.rand(4, 3, 32, 32).to(DEVICE), torch.randint(0, 10, (4,)).to(DEVICE)
    for _ in range(8):
        optimizer.zero_grad()
        out, aux = net(x)
        loss = nn.functional.cross_entropy(out, y) + aux.mean()
        loss.backward()
        optimizer.step()
    print(json.dumps({"weights": {k: list(v.shape) for k, v in net.state_dict().items() if v.dim() > 1},
                      "out": list(out.shape), "aux": list(aux.shape), "loss": loss.item()}))
"""
HALF = {"id": "prune", "share": 0.5, "sample": [3, 32, 32]}


def script(device: str = "cuda", before: str = "") -> str:
    return SCRIPT.replace("DEVICE", repr(device)).replace("#before", before)


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_channels_are_taken_out_before_the_optimizer_is_made(job: Job, device: str) -> None:
    finished = job.run(script(device), HALF, card=CARD)
    told = finished.output()
    assert told["weights"] == {
        "stem.0.weight": [32, 3, 3, 3],
        "a.0.weight": [32, 32, 3, 3],
        "b.weight": [32, 1, 3, 3],
        "aux.weight": [5, 32, 1, 1],
        "head.weight": [10, 32],
    }
    assert (told["out"], told["aux"]) == ([4, 10], [4, 5, 32, 32])
    text = finished.only("plan_applied")["text"]
    assert text.startswith("50 % of the channels taken out of Net: ") and text == finished.only("plan_effect")["text"]


def test_calls_to_follow_the_network_are_none_of_the_scripts(job: Job) -> None:
    plain, pruned = job.run(script(), card=CARD), job.run(script(), HALF, card=CARD)
    assert pruned.phases() == plain.phases()
    assert pruned.only("root_module")["parameters"] < 0.5 * plain.only("root_module")["parameters"]


def test_the_channels_of_the_smallest_weights_go_where_there_are_values(job: Job) -> None:
    before = (
        "torch.no_grad().__enter__(); [w[::2].mul_(0.01) for w in (net.stem[0].weight, net.a[0].weight, net.b.weight)]"
    )
    before += "; torch.enable_grad().__enter__()"
    then = "print(json.dumps((net.a[0].weight.abs().flatten(1).max(1).values > 0.02).tolist()))"
    finished = job.run(script("cpu", before) + "    " + then + "\n", HALF, card=CARD, VRAMFIT_VALUES="cpu")
    assert finished.output() == [True] * 32


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (
            "average = copy.deepcopy(net)",
            "a second Net is there, an average or a teacher: it would have other channels",
        ),
        ("net.head = nn.Linear(65, 10).to(x)", "Torch-Pruning can't follow Net: "),
    ],
)
def test_networks_that_it_is_not_for_are_refused(job: Job, before: str, text: str) -> None:
    before = "x = torch.rand(1, 3, 8, 8).to(net.stem[0].weight); " + before
    finished: Any = job.run(script(before=before), HALF, card=CARD)
    assert finished.only("plan_refused")["text"].startswith(text)
    assert finished.exit_code == 3


def test_a_job_without_convolutions_is_told_before_it_trains(job: Job) -> None:
    finished = job.run(
        """
        import torch
        net = torch.nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.rand(2, 4)).sum().backward()
        optimizer.step()
        """,
        HALF,
    )
    assert finished.only("plan_refused")["text"] == "the script made no optimizer for a network with convolutions"


def test_what_it_would_be_for_is_told(job: Job) -> None:
    note = job.run(script(), card=CARD).only("convolution_layers")
    assert (note["layers"], note["sample"], note["torch_pruning"]) == (3, [3, 32, 32], True)


def test_a_graph_whose_nodes_are_elsewhere_is_told_and_nothing_taken_out(job: Job) -> None:
    renaming = """
    import torch_pruning
    from torch_pruning.dependency import graph
    source = open(graph.__file__).read().replace("module2node", "nodes_of")
    exec(compile(source, graph.__file__, "exec"), vars(graph))
    torch_pruning.dependency.DependencyGraph = graph.DependencyGraph
"""
    finished = job.run(renaming + script("cpu"), HALF, card=CARD)
    assert "no attribute 'module2node'" in finished.only("plan_refused")["text"]


def test_names_of_torch_pruning_are_probed_when_it_is_imported(job: Job) -> None:
    uses = "import torch, torch_pruning\ntorch.ones(1, device='cuda')"
    finished = job.run(uses, card=CARD)
    assert finished.of_kind("process") != [] and finished.of_kind("name_gone") == []
    hiding = "from vramfit.private import torch_pruning as names\nnames.nodes.name = 'gone'\n"
    hiding += "names.nodes.paths = ('torch_pruning.dependency:DependencyGraph.gone',)\n"
    gone = job.run(hiding + uses, card=CARD, cold=True).only("name_gone")
    assert (gone["library"], gone["lost"]) == ("torch_pruning", "no channels are taken out under a plan")
