"""What `vramfit fit` foresees of scripts whose memory no module's one call explains, beside what their runs take."""

from __future__ import annotations

import json
import sys
from typing import Any

import jsonschema
import pytest
from product import Product, strict_schema

pytestmark = pytest.mark.warm

# A model that is called for each letter of a text, as character-level recurrent networks are.
LETTERS = """
    import torch
    from torch import nn

    class Letters(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Embedding(100, 512)
            self.cell = nn.LSTMCell(512, 512)
            self.decoder = nn.Linear(512, 100)

        def forward(self, letter, state):
            state = self.cell(self.encoder(letter), state)
            return self.decoder(state[0]), state

    model = Letters().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(5):
        text = torch.randint(0, 100, (61, 512)).cuda()
        state = (torch.zeros(512, 512).cuda(), torch.zeros(512, 512).cuda())
        loss = 0
        optimizer.zero_grad()
        for here, after in zip(text[:-1], text[1:]):
            output, state = model(here, state)
            loss = loss + nn.functional.cross_entropy(output, after)
        loss.backward()
        optimizer.step()
"""

# An evaluation alone, of a network without modules inside, that keeps its outputs with their graphs.
FUNCTIONS = """
    import torch
    from torch import nn
    from torch.nn import functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = nn.ParameterList([nn.Parameter(torch.zeros(1024, 1024)) for _ in range(12)])

        def forward(self, x):
            for weight in self.weights:
                x = functional.gelu(functional.layer_norm(x @ weight, (1024,))) + x
            return x

    model = Net().cuda().eval()
    outputs = [model(torch.zeros(2048, 1024, device="cuda")).mean(1) for _ in range(20)]
    print(torch.cat(outputs).shape)
"""


def plans_of(product: Product, script: str, gpu: str) -> tuple[int, list[dict[str, Any]]]:
    """What the job takes with room, and the plans that fit."""
    report = product.folder / "fit.json"
    words = ["fit", "--gpu", gpu, "--json", str(report), "--", sys.executable, str(product.script(script))]
    done = product.call(*words, timeout=240)
    assert done.exit_code == 0, str(done)
    result = json.loads(report.read_text())
    jsonschema.validate(result, strict_schema("run"))
    return result["fit"]["free_run"]["devices"][0]["peak_device_bytes"], result["fit"]["plans"]


@pytest.mark.slow
def test_modules_that_a_step_calls_often_are_foreseen_call_by_call(product: Product) -> None:
    own, plans = plans_of(product, LETTERS, "rtx3060:900MiB")
    best = plans[0]
    assert [change["id"] for change in best["techniques"]] == ["checkpoint"], best
    foreseen, proven = best["predicted"]["peak_bytes"], best["proven"]["peak_device_bytes"]
    assert foreseen == pytest.approx(proven, rel=0.1)
    assert foreseen < 0.8 * own


@pytest.mark.slow
def test_no_grad_is_foreseen_below_the_job_and_as_far_as_nothing_tells(product: Product) -> None:
    own, plans = plans_of(product, FUNCTIONS, "rtx3060:4GiB")
    best = plans[0]
    assert [change["id"] for change in best["techniques"]] == ["no_grad_validation"], best
    predicted, proven = best["predicted"], best["proven"]["peak_device_bytes"]
    assert predicted["low_bytes"] <= proven <= predicted["high_bytes"] <= own
    assert predicted["peak_bytes"] < own / 2, "of a graph that is kept for no backward"
