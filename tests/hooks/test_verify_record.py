"""What a comparison of two runs is told of optimizers: what they keep, and the options of each step."""

from __future__ import annotations

import json

import pytest
from hooked_job import Finished, Job

SCRIPT = """
    import torch
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 3)
    optimizer = OPTIMIZER
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=9, cycle_momentum=CYCLES)
    for x in torch.utils.data.DataLoader(torch.randn(16, 4), batch_size=4):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
        schedule.step()
"""
STEPS = json.dumps({"steps": 3, "samples": 0, "group": 0, "outputs": 0, "tokens": 0, "seconds": 0.0})
ADAM = "torch.optim.AdamW(net.parameters(), lr=0.1, betas=(0.9, 0.99))"


def record(job: Job, optimizer: str, *plan: dict) -> Finished:
    finished = job.run(
        SCRIPT.replace("OPTIMIZER", optimizer).replace("CYCLES", str("Adafactor" not in optimizer)),
        *plan,
        VRAMFIT_VERIFY=STEPS,
    )
    assert finished.of_kind("hook_failed") == []
    assert finished.of_kind("training_end"), finished.stderr
    return finished


def states(finished: Finished) -> dict[str, list[float]]:
    return {each["index"]: each["values"] for each in finished.of_kind("training_tensor") if each["what"] == "state"}


def test_moments_are_noted_by_parameter_and_name(job: Job) -> None:
    found = states(record(job, ADAM))
    assert set(found) == {f"0.{index}.{name}" for index in (0, 1) for name in ("exp_avg", "exp_avg_sq")}
    assert [len(found[f"0.{index}.exp_avg_sq"]) for index in (0, 1)] == [12, 3]
    assert all(value > 0 for value in found["0.0.exp_avg_sq"])


def test_no_codes_of_fewer_bits_and_no_counts_are_noted(job: Job) -> None:
    assert set(states(record(job, "torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)"))) == {
        "0.0.momentum_buffer",
        "0.1.momentum_buffer",
    }
    factored = states(record(job, "torch.optim.Adafactor(net.parameters(), lr=0.1)"))
    assert "0.0.row_var" in factored and not any(name.endswith("step") for name in factored)


@pytest.mark.parametrize("plan", [{"id": "release_gradients"}, {"id": "offload_optimizer", "at_once": 64}])
def test_techniques_that_keep_the_optimizer_keep_its_state(job: Job, plan: dict) -> None:
    assert states(record(job, ADAM, plan)) == states(record(job, ADAM))


def test_what_a_schedule_moves_is_noted_whatever_it_is_kept_in(job: Job) -> None:
    steps = record(job, ADAM.replace("lr=0.1", "lr=torch.tensor(0.1), foreach=False")).of_kind("training_step")
    options = [step["options"][0] for step in steps]
    assert len({option["lr"] for option in options}) == 3  # a tensor
    assert len({option["betas[0]"] for option in options}) == 3  # cycled against it
    assert {option["betas[1]"] for option in options} == {0.99}
