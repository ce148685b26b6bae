"""Memory that grows per step: the line that keeps it, and what refers to it; and what only looks like growth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.warm

Diagnose = Callable[..., dict[str, Any]]

HEAD = """
import collections, functools, torch
from torch import nn
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
def batch(): return torch.randn(512, 256).cuda()
"""


def growth_in(evidence: dict[str, Any], phase: str) -> dict[str, Any] | None:
    return next((growth for growth in evidence["growth"] if growth["phase"] == phase), None)


def holders_of(growth: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The holders by their name without its indices."""
    return {str(held["holder"]["name"]).split("[")[0].split(" ->")[0]: held["holder"] for held in growth["holders"]}


def test_everything_that_can_keep_a_tensor_is_named(diagnose: Diagnose) -> None:
    evidence = diagnose(
        HEAD
        + """
kept_losses = []
callbacks = []
errors = []
Out = {}
class Meter:
    def __init__(self): self.history = {"out": []}
meter = Meter()
def watch(module, args, result): watched.append(result.detach() * 2)
watched = []
def install():
    seen = []
    def hook(module, args, result): seen.append(result * 3)
    model[0].register_forward_hook(hook)
install()
def failing(x):
    wide = x.repeat(1, 3)
    raise ValueError("refused")
def report(out):
    big = out.detach().repeat(1, 2)
    callbacks.append(lambda: big.sum())
def main():
    for step in range(8):
        x = batch()
        out = model(x)
        loss = out.pow(2).mean()
        loss.backward()
        optimizer.step(); optimizer.zero_grad()
        kept_losses.append(loss)
        meter.history["out"].append(out.detach() + 1)
        Out[step] = (out.detach()[:100] + 1)
        report(out)
        try: failing(x)
        except ValueError as error: errors.append(error)
main()
""",
        options=("--steps", "all"),
    )
    growth = growth_in(evidence, "train")
    assert growth is not None
    found = holders_of(growth)
    assert (found["kept_losses"]["kind"], found["kept_losses"]["container"]) == ("global", "list")
    assert (found["meter.history"]["kind"], found["meter.history"]["container"]) == ("attribute", "list")
    assert found["Out"]["kind"] == "notebook"
    assert found["callbacks"]["kind"] == "closure"
    assert "big" in found["callbacks"]["name"]
    assert found["errors"]["kind"] == "exception"
    assert found["errors"]["where"].endswith("in failing")
    hook = next(held for held in growth["holders"] if held["holder"]["kind"] == "hook")
    assert "hook()" in hook["holder"]["name"]
    lines = {held["line"].split(" in ")[1].split(".")[-1] for held in growth["holders"] if held["line"]}
    assert {"main", "failing", "report", "hook"} <= lines
    losses = next(held for held in growth["holders"] if held["holder"]["name"].startswith("kept_losses"))
    assert losses["operation"] == "MeanBackward0"


def test_numbers_windows_and_variables_of_the_last_step_are_no_growth(diagnose: Diagnose) -> None:
    evidence = diagnose(
        HEAD
        + """
losses, last, constants = [], collections.deque(maxlen=3), [torch.ones(1000, device="cuda") for _ in range(5)]
cache = {}
previous = None
for step in range(14):
    x = batch()
    out = model(x)
    loss = out.pow(2).mean()
    loss.backward()
    optimizer.step(); optimizer.zero_grad()
    losses.append(loss.item())
    last.append(out.detach())
    previous = out
    cache.setdefault(x.shape, torch.zeros(100000, device="cuda"))
""",
        options=("--steps", "all"),
    )
    assert growth_in(evidence, "train") is None


def test_a_sum_of_losses_and_a_hidden_state_are_graphs_that_get_longer(diagnose: Diagnose) -> None:
    evidence = diagnose(
        HEAD
        + """
scale = nn.Parameter(torch.ones(1, device="cuda"))
optimizer = torch.optim.SGD([scale], lr=0.1)
class Trainer:
    def __init__(self): self.hidden = torch.zeros(512, 256, device="cuda")
    def run(self):
        total = 0
        for step in range(7):
            self.hidden = model(batch() + self.hidden)
            loss = self.hidden.pow(2).mean()
            total = total + loss
            loss.backward(retain_graph=True)
            optimizer.step()
Trainer().run()
""",
        options=("--steps", "all"),
    )
    growth = growth_in(evidence, "train")
    assert growth is not None
    assert evidence["retain_graph"] and evidence["retain_graph_line"].endswith("Trainer.run")
    graphs = {graph["holder"]["name"]: graph for graph in growth["graphs"]}
    assert {"total", "self.hidden"} <= set(graphs)
    assert graphs["total"]["nodes_after"] > graphs["total"]["nodes_before"]
    assert growth["per_step_bytes"] >= 512 * 1024 * 4


def test_an_averaged_copy_of_the_weights_is_found_by_its_shapes(diagnose: Diagnose) -> None:
    evidence = diagnose(
        HEAD
        + """
import copy
average = copy.deepcopy(model)
for step in range(5):
    model(batch()).pow(2).mean().backward()
    optimizer.step(); optimizer.zero_grad()
    with torch.no_grad():
        for ours, theirs in zip(average.parameters(), model.parameters()): ours.lerp_(theirs, 0.1)
""",
        options=("--steps", "all"),
    )
    (copy,) = evidence["weight_copies"]
    assert copy["holder"]["name"].startswith("average.0")
    assert copy["tensors"] == 4
    assert growth_in(evidence, "train") is None


def test_a_step_that_trains_more_and_more_layers_keeps_no_graph(diagnose: Diagnose) -> None:
    evidence = diagnose(
        """
import torch
from torch import nn
net = nn.Sequential(*[nn.Linear(512, 512) for _ in range(9)]).cuda().requires_grad_(False)
optimizer = torch.optim.Adam(net.parameters())
for stage in range(9):
    net[8 - stage].requires_grad_(True)
    for step in range(12):
        loss = net(torch.randn(64, 512, device="cuda")).pow(2).mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
""",
        options=("--steps", "all"),
    )
    assert growth_in(evidence, "train") is None


def test_truncated_backpropagation_keeps_no_pass(diagnose: Diagnose) -> None:
    evidence = diagnose(
        """
import torch
from torch import nn
cell = nn.GRUCell(64, 256).cuda()
optimizer = torch.optim.Adam(cell.parameters())
state = torch.zeros(32, 256, device="cuda")
loss = 0
for t in range(1, 401):
    state = cell(torch.randn(32, 64, device="cuda"), state)
    loss = loss + state.pow(2).mean()
    if t % 25 == 0:
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        state, loss = state.detach(), 0
"""
    )
    assert evidence["growth"] == []


def test_copies_that_begin_late_and_small_results_of_evaluations_have_names(diagnose: Diagnose) -> None:
    late = growth_in(
        diagnose(
            HEAD
            + """
versions = []
for epoch in range(20):
    for step in range(15):
        model(batch()).pow(2).mean().backward()
        optimizer.step(); optimizer.zero_grad()
    if epoch >= 8: versions.append({name: value.clone() for name, value in model.state_dict().items()})
""",
            options=("--steps", "all"),
        ),
        "train",
    )
    assert late is not None and "versions" in holders_of(late), late
    kept = growth_in(
        diagnose(
            HEAD
            + """
class Scores:
    def __init__(self): self.pairs = []
    def add(self, out, y): self.pairs.append((out.mean(1), y))
scores = Scores()
for epoch in range(14):
    for step in range(15):
        model(batch()).pow(2).mean().backward()
        optimizer.step(); optimizer.zero_grad()
    model.eval()
    for step in range(6): scores.add(model(batch()), torch.zeros(512, device="cuda"))
    model.train()
""",
            options=("--steps", "all"),
        ),
        "train",
    )
    assert kept is not None and "scores.pairs" in holders_of(kept), kept


def test_an_object_that_is_copied_has_no_copy_to_drop(diagnose: Diagnose) -> None:
    evidence = diagnose(
        HEAD
        + """
import copy
frozen = copy.deepcopy(model)
for step in range(30):
    with torch.no_grad(): wanted = frozen(batch())
    (model(batch()) - wanted).pow(2).mean().backward()
    optimizer.step(); optimizer.zero_grad()
    if step % 10 == 0: frozen.load_state_dict(model.state_dict())
""",
        options=("--steps", "all"),
    )
    assert evidence["copies"] == []


def test_an_error_within_the_backward_pass_is_looked_at_like_any_other(diagnose: Diagnose) -> None:
    evidence = diagnose(
        """
import torch
weight = torch.randn(2048, 2048, device="cuda", requires_grad=True)
x, held = weight, []
try:
    while True:
        for _ in range(8): x = (x @ weight).relu()
        x.sum().backward(retain_graph=True)
        held.append(torch.randn(8, 2048, 2048, device="cuda"))
except torch.OutOfMemoryError: pass
""",
        options=("--steps", "all"),
    )
    assert evidence["oom"] is not None
