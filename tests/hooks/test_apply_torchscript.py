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
