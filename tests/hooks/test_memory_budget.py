"""torch.compile that saves less for backward (`memory_budget`), and what is told of jobs that compile."""

from __future__ import annotations

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

CARD = 8 << 30
PLAN = {"id": "memory_budget", "budget": 0.5}
SCRIPT = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    block = lambda: nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))
    model = nn.Sequential(*[block() for _ in range(4)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    #before
    compiled = torch.compile(model, backend="aot_eager")
    #behind
    held = []
    for _ in range(2):
        x = torch.randn(4096, 64).cuda()
        before = torch.cuda.memory_allocated()
        result = compiled(x)
        held.append(torch.cuda.memory_allocated() - before)
        result.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    print(json.dumps({"held": held[-1], "weights": sum(p.double().sum().item() for p in model.parameters())}))
"""
SET = "import torch._functorch.config; torch._functorch.config.activation_memory_budget = 0.25"


def script(before: str = "", behind: str = "") -> str:
    return SCRIPT.replace("#before", before).replace("#behind", behind)


def test_a_compiled_network_saves_at_most_its_share(job: Job) -> None:
    plain = job.run(script(), card=CARD)
    finished = job.run(script(), PLAN, card=CARD)
    assert finished.output()["held"] < 0.6 * plain.output()["held"]
    assert finished.only("plan_applied")["text"] == "torch.compile saves at most 0.5 of what it would for backward"
    assert plain.only("compiled")["memory_budget"] == 1


def test_a_budget_of_the_script_is_told(job: Job) -> None:
    assert job.run(script(SET), card=CARD).only("compiled")["memory_budget"] == 0.25


def test_a_budget_that_the_script_sets_later_is_a_refusal(job: Job) -> None:
    finished = job.run(script(behind=SET), PLAN, card=CARD)
    text = "the script itself sets activation_memory_budget to 0.25 after torch.compile"
    assert finished.only("plan_refused")["text"] == text
    assert finished.exit_code == 3


def test_a_budget_that_the_script_sets_first_stands(job: Job) -> None:
    finished = job.run(script(SET), PLAN, card=CARD)
    text = "the script itself sets activation_memory_budget to 0.25 before torch.compile"
    assert finished.only("plan_refused")["text"] == text
    assert not finished.of_kind("plan_applied")
    assert finished.exit_code == 3


UNTRAINED = {
    "a function that has no gradients": "scaled = torch.compile(lambda x: x * 2, backend=AOT); compiled = model",
    "a network that is evaluated": "other = torch.compile(nn.Linear(64, 64).cuda(), backend=AOT); compiled = model",
    "a backend that divides nothing": "compiled = torch.compile(model, backend='eager')",
}


@pytest.mark.parametrize("made", UNTRAINED)
@pytest.mark.parametrize("optimizers", [1, 2])
def test_what_is_compiled_and_never_trained_is_refused(job: Job, made: str, optimizers: int) -> None:
    untrained = UNTRAINED[made].replace("AOT", "'aot_eager'")
    text = script().replace('compiled = torch.compile(model, backend="aot_eager")', untrained).replace(
        "result = compiled(x)", "result = compiled(scaled(x) if 'scaled' in globals() else x)\n"
        "        with torch.no_grad(): 'other' in globals() and other(x)")  # fmt: skip
    if optimizers == 2:
        text = text.replace("#behind", "").replace(
            "held = []", "held = []; spare = torch.optim.SGD(model.parameters(), lr=0.1)"
        )
    finished = job.run(text, PLAN, card=CARD)
    assert finished.only("plan_refused")["text"] == "nothing that the script compiles by torch.compile is trained"
    assert not finished.of_kind("plan_applied")
    assert finished.exit_code == (3 if optimizers == 1 else 0)  # whose turn it is shows at the end alone


def test_what_another_optimizer_trains_later_is_applied(job: Job) -> None:
    first = """
    other = nn.Linear(4, 4).cuda()
    first = torch.optim.SGD(other.parameters(), lr=0.1)
    for _ in range(2):
        other(torch.ones(4, 4).cuda()).sum().backward()
        first.step()"""
    finished = job.run(script(behind=first.strip()), PLAN, card=CARD)
    assert finished.only("plan_applied")
    assert not finished.of_kind("plan_refused")


def test_gradients_that_a_script_works_out_itself_are_trained_on(job: Job) -> None:
    grad = "torch.autograd.grad(result.square().mean(), [*model.parameters()])"
    by_hand = f"for p, g in zip(model.parameters(), {grad}): p.grad = g"
    finished = job.run(script().replace("result.square().mean().backward()", by_hand), PLAN, card=CARD)
    assert finished.only("plan_applied")
    assert not finished.of_kind("plan_refused")


def test_a_script_that_compiles_nothing_is_refused(job: Job) -> None:
    nothing = script().replace('torch.compile(model, backend="aot_eager")', "model")
    finished = job.run(nothing, PLAN, card=CARD)
    assert finished.only("plan_refused")["text"] == "the script compiles nothing by torch.compile"
    assert finished.exit_code == 3
    assert not finished.of_kind("compiled")


def test_values_are_computed_without_compiling_and_the_plan_holds_all_the_same(job: Job) -> None:
    plain = job.run(script(), card=CARD, VRAMFIT_VALUES="cpu")
    finished = job.run(script(), PLAN, card=CARD, VRAMFIT_VALUES="cpu")
    assert finished.output()["weights"] == plain.output()["weights"]
    assert finished.only("plan_applied")
    assert not plain.of_kind("compiled")


def test_a_release_without_the_setting_refuses(job: Job) -> None:
    gone = "import torch._functorch.config; del torch._functorch.config.activation_memory_budget"
    finished = job.run(script(gone), PLAN, card=CARD)
    text = "torch.compile of this release of PyTorch has no activation_memory_budget"
    assert finished.only("plan_refused")["text"] == text
