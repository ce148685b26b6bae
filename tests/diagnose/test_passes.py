"""Memory that grows in loops that take no step of an optimizer: lists that are filled, gradients applied by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.warm

Diagnose = Callable[..., dict[str, Any]]


def only_growth(evidence: dict[str, Any]) -> dict[str, Any]:
    assert len(evidence["growth"]) == 1, evidence["growth"]
    growth: dict[str, Any] = evidence["growth"][0]
    return growth


def names_of(growth: dict[str, Any]) -> set[str]:
    return {str(held["holder"]["name"]).split("[")[0] for held in growth["holders"]}


def test_a_list_that_a_plain_loop_fills(diagnose: Diagnose) -> None:
    growth = only_growth(
        diagnose("""
import torch
outs = []
for i in range(120):
    outs.append(torch.randn(256, 1024, device="cuda"))
""")
    )
    assert growth["unit"] == "pass"
    assert growth["per_step_bytes"] == 1 << 20
    assert growth["runs_out_at_step"] > 1000
    assert growth["lines"][0]["line"].endswith(":5 in <module>")
    assert names_of(growth) == {"outs"}


def test_two_tensors_of_a_pass_are_one_pass(diagnose: Diagnose) -> None:
    growth = only_growth(
        diagnose("""
import torch
def work(passes):
    cache = {}
    for i in range(passes):
        a = torch.randn(512, 512, device="cuda")
        cache[i] = (a + 1, a[:256] * 2)
    return len(cache)
print(work(100))
""")
    )
    assert growth["per_step_bytes"] == 3 << 19
    assert names_of(growth) == {"cache"}


def test_what_is_made_longer_in_each_pass(diagnose: Diagnose) -> None:
    growth = only_growth(
        diagnose("""
import torch
found = torch.empty(0, 1024, device="cuda")
for i in range(100):
    points = torch.randn(256, 1024, device="cuda")
    found = torch.cat([found, points])
""")
    )
    assert growth["lines"][0]["line"].endswith(":6 in <module>")
    assert names_of(growth) == {"found"}


def test_gradients_applied_by_hand_are_steps(diagnose: Diagnose) -> None:
    evidence = diagnose("""
import torch
from torch import nn
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).cuda()
losses = []
for i in range(40):
    loss = model(torch.randn(512, 256, device="cuda")).pow(2).mean()
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.1 * parameter.grad
    losses.append(loss)
""")
    growth = only_growth(evidence)
    assert growth["phase"] == "train"
    assert "losses" in names_of(growth)


def test_gradients_that_are_asked_for_by_name_are_steps_too(diagnose: Diagnose) -> None:
    growth = only_growth(
        diagnose("""
import torch
w = torch.randn(512, 512, device="cuda", requires_grad=True)
history = []
for i in range(40):
    loss = ((torch.randn(64, 512, device="cuda") @ w) ** 2).mean()
    (gradient,) = torch.autograd.grad(loss, [w])
    with torch.no_grad():
        w -= 0.1 * gradient
    history.append(w.clone())
""")
    )
    assert names_of(growth) == {"history"}


HEALTHY = {
    "reads what it is given": """
data = [torch.randn(64, 512, device="cuda") for i in range(100)]
w = torch.randn(512, 512, device="cuda")
total = 0.0
for epoch in range(5):
    for x in data:
        total += float((x @ w).relu().mean())
""",
    "power iteration": """
A = torch.randn(1024, 1024, device="cuda")
x = torch.randn(1024, device="cuda")
for i in range(200):
    y = A @ x
    x = y / y.norm()
""",
    "a window": """
import collections
last = collections.deque(maxlen=20)
for i in range(200):
    last.append(torch.randn(256, 1024, device="cuda"))
""",
    "a cache that is full": """
cache = {}
for i in range(200):
    if i % 16 not in cache:
        cache[i % 16] = torch.randn(256, 1024, device="cuda")
    y = cache[i % 16] * 2
""",
    "a list that is emptied": """
parts = []
for i in range(200):
    parts.append(torch.randn(256, 1024, device="cuda"))
    if len(parts) == 10:
        whole = torch.cat(parts)
        parts.clear()
""",
}


@pytest.mark.parametrize("name", HEALTHY)
def test_loops_that_keep_no_more_and_more(diagnose: Diagnose, name: str) -> None:
    assert diagnose("import torch" + HEALTHY[name])["growth"] == []


MODEL = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).cuda()
outs = []
"""


@pytest.mark.parametrize(
    ("guard", "unit", "phase"), [("torch.no_grad()", "step", "test"), ("torch.enable_grad()", "pass", "train")]
)
def test_outputs_of_a_model_that_a_plain_loop_keeps(diagnose: Diagnose, guard: str, unit: str, phase: str) -> None:
    evidence = diagnose(
        MODEL
        + f"""
for i in range(60):
    with {guard}:
        outs.append(model(torch.randn(512, 256, device="cuda")))
"""
    )
    growth = only_growth(evidence)
    assert (growth["unit"], growth["phase"]) == (unit, phase)
    assert growth["lines"][0]["line"].endswith(":9 in <module>")
    assert "outs" in names_of(growth)
    assert any(":9 in <module>" in line for held in growth["holders"] for line in held["holder"]["filled_at"])
    assert unit == "step" or evidence["judged_passes"] >= 50


def test_layers_of_one_forward_pass_are_no_passes(diagnose: Diagnose) -> None:
    evidence = diagnose("""
import torch
from torch import nn
model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(60)]).cuda()
loss = model(torch.randn(4096, 256, device="cuda")).sum()
""")
    assert evidence["growth"] == []


def test_a_loop_that_keeps_nothing_is_known_to(diagnose: Diagnose) -> None:
    evidence = diagnose(
        MODEL
        + """
for i in range(60):
    out = model(torch.randn(512, 256, device="cuda"))
"""
    )
    assert evidence["growth"] == []
    assert evidence["judged_passes"] >= 50


def test_a_loop_without_a_model_that_keeps_nothing_is_known_to(diagnose: Diagnose) -> None:
    evidence = diagnose("""
import torch
weight = torch.randn(512, 512, device="cuda")
for i in range(60):
    out = torch.randn(64, 512, device="cuda") @ weight
""")
    assert evidence["growth"] == []
    assert evidence["judged_passes"] >= 50


def test_keys_and_values_that_are_handed_on_are_no_leak(diagnose: Diagnose) -> None:
    evidence = diagnose("""
import torch
from torch import nn
class Step(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(256, 512)
    def forward(self, token, past_key_values=None):
        key, value = self.project(token).chunk(2, dim=-1)
        if past_key_values is not None:
            key = torch.cat([past_key_values[0], key], dim=2)
            value = torch.cat([past_key_values[1], value], dim=2)
        return value[:, :, -1:], (key.contiguous(), value.contiguous())
model = Step().cuda()
past = None
with torch.no_grad():
    for i in range(60):
        out, past = model(torch.randn(8, 16, 1, 256, device="cuda"), past)
""")
    assert evidence["growth"] == []


def test_a_graph_that_is_carried_before_the_only_step_is_growth(diagnose: Diagnose) -> None:
    evidence = diagnose("""
import torch
from torch import nn
net = nn.GRU(64, 128, batch_first=True).cuda()
optimizer = torch.optim.Adam(net.parameters())
h = torch.zeros(1, 16, 128, device="cuda")
total = 0
for i in range(120):
    out, h = net(torch.randn(16, 20, 64, device="cuda"), h)
    total = total + out.pow(2).mean()
total.backward()
optimizer.step()
""")
    assert [growth["unit"] for growth in evidence["growth"]] == ["pass"]


def test_parts_that_are_added_up_before_a_step_are_no_growth(diagnose: Diagnose) -> None:
    evidence = diagnose("""
import torch
from torch import nn
net = nn.Linear(256, 256).cuda()
optimizer = torch.optim.Adam(net.parameters())
for i in range(120):
    net(torch.randn(64, 256, device="cuda")).pow(2).mean().backward()
optimizer.step()
""")
    assert evidence["growth"] == []
