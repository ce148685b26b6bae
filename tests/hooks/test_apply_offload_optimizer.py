"""The optimizer's state in host memory between steps."""

from __future__ import annotations

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

# Prints the weights after each step's update, what a checkpoint's state is, and where its tensors are.
SCRIPT = """
    import copy, json, torch
    from torch import nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4)).cuda()
    optimizer = torch.optim.{optimizer}
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    calls = []
    optimizer.register_step_post_hook(lambda *_: calls.append(1))
    for step in range(4):
        loss = model(torch.randn(2, 4).cuda()).square().sum()
        optimizer.zero_grad()
        loss.backward()
        {before}
        optimizer.step()
        schedule.step()
        {after}
    kept = optimizer.state_dict()["state"].values()
    kept = [each for one in kept for each in one.values() if hasattr(each, "dim")]
    print(json.dumps({{
        "weights": [p.tolist() for p in model.parameters()],
        "state": [each.tolist() for each in kept],
        "on the card": sum(each.is_cuda for each in kept if each.dim() > 0),
        "calls": len(calls),
        "kinds": sorted(str(each.dtype) for each in kept),
    }}))
"""
# The networks's parameters are loaded two at a time, then one.
CARD = 8 << 30
OFFLOAD = {"id": "offload_optimizer", "at_once": 160}
ADAMW = "AdamW(model.parameters(), lr=0.01)"


def script(optimizer: str = ADAMW, before: str = "pass", after: str = "pass") -> str:
    return SCRIPT.format(optimizer=optimizer, before=before, after=after)


@pytest.mark.parametrize(
    "optimizer",
    [
        ADAMW,
        "Adam(model.parameters(), amsgrad=True, fused=True)",
        "Adam([{'params': model[0].parameters()}, {'params': model[2].parameters(), 'lr': 0.1}], foreach=False)",
        "SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)",
        "RMSprop(model.parameters(), foreach=True)",
        "NAdam(model.parameters())",
        "Adagrad(model.parameters())",
        "Adafactor(model.parameters())",
        "Rprop(model.parameters())",
    ],
)
def test_state_in_host_memory_trains_to_the_same_bits(job: Job, optimizer: str) -> None:
    plain = job.run(script(optimizer), card=CARD, VRAMFIT_VALUES="cpu").output()
    finished = job.run(script(optimizer), OFFLOAD, card=CARD, VRAMFIT_VALUES="cpu")
    found = finished.output()
    assert plain["on the card"] > 0 and found["on the card"] == 0
    assert {**found, "on the card": 0} == {**plain, "on the card": 0}
    assert finished.only("plan_applied")["id"] == "offload_optimizer"
    assert not finished.of_kind("plan_refused") and not finished.of_kind("hook_failed")


@pytest.mark.parametrize(
    "after",
    [
        "optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))",
        "step == 1 and optimizer.add_param_group({'params': [nn.Parameter(torch.ones(3).cuda())]})",
        "nn.utils.clip_grad_norm_(model.parameters(), 0.1)",
        "model[0].requires_grad_(step % 2 == 0)",
    ],
)
def test_what_scripts_do_to_their_optimizers_stays_as_it_was(job: Job, after: str) -> None:
    plain = job.run(script(after=after), card=CARD, VRAMFIT_VALUES="cpu").output()
    found = job.run(script(after=after), OFFLOAD, card=CARD, VRAMFIT_VALUES="cpu").output()
    assert found["on the card"] == 0
    assert {**found, "on the card": 0} == {**plain, "on the card": 0}


def test_a_copied_optimizer_steps_as_well(job: Job) -> None:
    copied = "optimizer = copy.deepcopy(optimizer) if step == 1 else optimizer; schedule.optimizer = optimizer"
    # A copy has copies of the parameters: what it updates are those.
    after = f"{copied}; model[0].weight, model[0].bias = optimizer.param_groups[0]['params'][:2]"
    plain = job.run(script(after=after), card=CARD, VRAMFIT_VALUES="cpu").output()
    found = job.run(script(after=after), OFFLOAD, card=CARD, VRAMFIT_VALUES="cpu").output()
    assert {**found, "on the card": 0} == {**plain, "on the card": 0}


def test_gradients_released_in_backward_use_state_in_host_memory(job: Job) -> None:
    plain = job.run(script(), card=CARD, VRAMFIT_VALUES="cpu").output()
    finished = job.run(script(), {"id": "release_gradients"}, OFFLOAD, card=CARD, VRAMFIT_VALUES="cpu")
    found = finished.output()
    assert found["weights"] == plain["weights"] and found["on the card"] == 0
    assert sorted(found["state"], key=str) == sorted(plain["state"], key=str)  # the last parameter's comes first
    assert {note["id"] for note in finished.of_kind("plan_applied")} == {"release_gradients", "offload_optimizer"}


def test_a_step_with_a_closure_asks_it_once_and_returns_its_loss(job: Job) -> None:
    before = "seen = []; assert optimizer.step(lambda: seen.append(1) or 7.0) == 7.0 and len(seen) == 1"
    plain = job.run(script(before=before), card=CARD, VRAMFIT_VALUES="cpu").output()
    found = job.run(script(before=before), OFFLOAD, card=CARD, VRAMFIT_VALUES="cpu").output()
    assert {**found, "on the card": 0} == {**plain, "on the card": 0}


def test_optimizers_of_another_kind_are_refused(job: Job) -> None:
    finished = job.run(script("LBFGS(model.parameters())"), OFFLOAD, card=CARD)
    assert finished.exit_code == 3
    assert "no optimizer of torch.optim that treats" in finished.only("plan_refused")["text"]
