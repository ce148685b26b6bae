"""Evaluations: gradients left on, predictions gathered, what training leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.warm

Diagnose = Callable[..., dict[str, Any]]

JOB = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
model = nn.Sequential(nn.Linear(256, 2048), nn.ReLU(), nn.Linear(2048, 256)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(TensorDataset(torch.randn(2048, 256)), 256, shuffle=True)
held_out = DataLoader(TensorDataset(torch.randn(2048, 256)), 256)
def train():
    model.train()
    for (x,) in loader:
        images = x.cuda()
        out = model(images)
        loss = out.pow(2).mean()
        loss.backward()
        optimizer.step(); optimizer.zero_grad(set_to_none=ZERO_GRADS)
    return RETURNED
def validate():
    model.eval()
    gathered = []
    with GUARD():
        for (x,) in held_out:
            gathered.append(KEPT)
    return gathered
for epoch in range(3):
    state = train()
    validate()
"""


def job(guard: str = "torch.no_grad", kept: str = "model(x.cuda()).mean().item()", returned: str = "None") -> str:
    text = JOB.replace("GUARD", guard).replace("KEPT", kept).replace("RETURNED", returned)
    return text.replace("ZERO_GRADS", "True" if returned == "None" else "False")


def growing(evidence: dict[str, Any]) -> list[str]:
    return [growth["phase"] for growth in evidence["growth"]]


def test_a_missing_no_grad_shows_as_activations_that_stay(diagnose: Diagnose) -> None:
    evidence = diagnose(job(guard="torch.enable_grad"))
    (call,) = evidence["evaluations"]
    assert (call["phase"], call["grad_enabled"], call["has_graph"]) == ("validate", True, True)
    assert call["line"].endswith("in validate")
    # Saved for a backward pass that never comes: the ReLU's output.
    assert call["saved_bytes"] >= 256 * 2048 * 4
    assert growing(evidence) == []


def test_no_grad_and_inference_mode_keep_nothing(diagnose: Diagnose) -> None:
    for guard in ("torch.no_grad", "torch.inference_mode"):
        evidence = diagnose(job(guard=guard))
        (call,) = evidence["evaluations"]
        assert not call["grad_enabled"]
        assert call["saved_bytes"] < 1 << 20
        assert growing(evidence) == []
        assert evidence["kept_from_training"][0]["gradient_bytes"] == 0


def test_predictions_gathered_on_the_card_are_named_with_their_line(diagnose: Diagnose) -> None:
    evidence = diagnose(job(kept="model(x.cuda())"))
    assert growing(evidence) == ["validate"]
    (growth,) = evidence["growth"]
    assert growth["lines"][0]["line"].endswith("in validate")
    assert growth["per_step_bytes"] == 256 * 256 * 4
    held = growth["holders"][0]["holder"]
    assert (held["kind"], held["container"]) == ("local", "list")
    assert held["name"].startswith("gathered[")


def test_predictions_gathered_on_the_host_are_none_of_it(diagnose: Diagnose) -> None:
    assert growing(diagnose(job(kept="model(x.cuda()).cpu()"))) == []


def test_what_training_leaves_is_named(diagnose: Diagnose) -> None:
    evidence = diagnose(job(returned="images, out, loss"))
    (left,) = evidence["kept_from_training"]
    assert left["phase"] == "validate"
    weights = 2 * 256 * 2048 + 2048 + 256
    assert left["gradient_bytes"] == weights * 4
    names = {held["holder"]["name"] for held in left["tensors"]}
    assert {"state[0]", "state[1]"} <= names
    outputs = next(held for held in left["tensors"] if held["holder"]["name"] == "state[1]")
    assert outputs["operation"] == "AddmmBackward0"
    assert outputs["bytes"] == 256 * 256 * 4
    assert outputs["line"].endswith("in train")
