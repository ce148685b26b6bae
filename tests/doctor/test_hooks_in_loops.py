"""Hooks that are registered anew in each step keep what each of them holds: who holds it, and what to do there."""

from __future__ import annotations

import sys

import pytest
from doctor_calls import Doctor

pytestmark = pytest.mark.warm

EXTRACTOR = """
import torch

class Extractor:
    def __init__(self, model):
        self.features = {}
        model[0].register_forward_hook(self.save)
    def save(self, module, inputs, output): self.features["out"] = KEPT

model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.01)
extractor = Extractor(model) if ONCE else None
for step in range(40):
    if not ONCE: extractor = Extractor(model)
    loss = model(torch.randn(512, 512, device="cuda")).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("kept", "label"), [("output.clone()", "graph_retained"), ("output.detach().clone()", "leak_growth")]
)
def test_the_advice_is_to_register_it_once(doctor: Doctor, kept: str, label: str) -> None:
    script = doctor.product.script(EXTRACTOR.replace("KEPT", kept).replace("ONCE", "False"))
    done = doctor.look("--gpu", "rtx3060", "--", sys.executable, str(script), VRAMFIT_WITHIN="20")
    assert done.result is not None, str(done)
    first = done.result["findings"][0]
    assert first["label"] == label, str(done)
    assert "_forward_hooks" in first["title"], first["title"]
    assert "Register the hook once" in first["fixes"][0]["what"], first["fixes"]


def test_one_that_is_registered_once_is_all_well(doctor: Doctor) -> None:
    script = doctor.product.script(EXTRACTOR.replace("KEPT", "output.detach().clone()").replace("ONCE", "True"))
    done = doctor.look("--gpu", "rtx3060", "--", sys.executable, str(script), VRAMFIT_WITHIN="20")
    assert done.result is not None and done.result["findings"] == [], str(done)
