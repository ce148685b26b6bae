"""Gradients that are released in backward, or set to None."""

from __future__ import annotations

import importlib.util

import pytest
from hooked_job import Job
from small_training import training

pytestmark = pytest.mark.by_release

# Trains two networks that share an optimizer, and prints how many gradients there are after each backward pass.
RELEASED = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))
    optimizer = torch.optim.{optimizer}
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    kept = []
    def count(): return sum(getattr(torch.Tensor, "grad").__get__(p) is not None for p in model.parameters())
    for step in range(4):
        loss = model(torch.randn(2, 4)).square().sum()
        optimizer.zero_grad()
        loss.backward()
        kept.append(count())
        {between}
        optimizer.step()
        {after}
    print(json.dumps({{"values": [p.tolist() for p in model.parameters()], "kept": kept}}))
"""
RELEASE = {"id": "release_gradients"}
ADAMW = "AdamW(model.parameters(), lr=0.01)"


def released(optimizer: str = ADAMW, between: str = "pass", after: str = "schedule.step()") -> str:
    return RELEASED.format(optimizer=optimizer, between=between, after=after)


@pytest.mark.parametrize(
    "optimizer",
    [
        ADAMW,
        "SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)",
        "Adam([{'params': model[0].parameters()}, {'params': model[2].parameters(), 'lr': 0.1}], amsgrad=True)",
        "RMSprop(model.parameters(), foreach=True)",
        "NAdam(model.parameters())",
        "Adafactor(model.parameters())",
        "ASGD(model.parameters())",
    ],
)
def test_released_gradients_train_to_the_same_bits(job: Job, optimizer: str) -> None:
    plain = job.run(released(optimizer)).output()
    finished = job.run(released(optimizer), RELEASE)
    assert plain["kept"] == [4] * 4
    assert finished.output() == {"values": plain["values"], "kept": [0] * 4}
    assert finished.only("plan_applied")["id"] == "release_gradients"
    assert not finished.of_kind("plan_refused") and not finished.of_kind("hook_failed")


def test_parameters_that_are_not_trained_yet_are_left_to_the_step(job: Job) -> None:
    """Fine-tuning gives the optimizer all of them, and trains some from a later step on."""
    frozen = "AdamW(model[0].requires_grad_(False) and model.parameters(), lr=0.01)"
    script = released(frozen, after="schedule.step(); model[0].requires_grad_(step > 0)")
    plain = job.run(script).output()
    finished = job.run(script, RELEASE)
    assert plain["kept"] == [2, 2, 4, 4]
    assert finished.output() == {"values": plain["values"], "kept": [0, 0, 2, 2]}
    assert not finished.of_kind("plan_refused") and not finished.of_kind("hook_failed")


NO_BITSANDBYTES = "bitsandbytes is not in this environment"
EIGHT_BIT = {"id": "optimizer", "name": "bitsandbytes.optim.AdamW8bit"}


needs_bitsandbytes = pytest.mark.skipif(importlib.util.find_spec("bitsandbytes") is None, reason=NO_BITSANDBYTES)


@pytest.mark.skipif(importlib.util.find_spec("bitsandbytes") is not None, reason="bitsandbytes is in this environment")
def test_an_optimizer_in_8_bits_is_refused_without_its_package(job: Job) -> None:
    finished = job.run(released(), EIGHT_BIT, RELEASE)
    assert finished.exit_code == 3
    assert "no bitsandbytes.optim.AdamW8bit" in finished.only("plan_refused")["text"]


@needs_bitsandbytes
def test_an_optimizer_in_8_bits_trains_to_the_same_bits(job: Job) -> None:
    wide = released().replace("nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4)", "nn.Linear(4, 2048), nn.Linear(2048, 4)")
    finished = job.run(wide, EIGHT_BIT, RELEASE)
    plain = job.run(wide, EIGHT_BIT).output()
    assert finished.output() == {"values": plain["values"], "kept": [0] * 4}
    assert {note["id"] for note in finished.of_kind("plan_applied")} == {"optimizer", "release_gradients"}
    assert not any(finished.of_kind(kind) for kind in ("plan_refused", "hook_failed", "name_gone"))


@needs_bitsandbytes
def test_settings_of_single_parameters_in_8_bits_are_refused(job: Job) -> None:
    own = "import bitsandbytes; bitsandbytes.optim.GlobalOptimManager.get_instance().register_module_override"
    script = released().replace("kept = []", f"kept = []; {own}(model[0], 'weight', {{'optim_bits': 32}})")
    finished = job.run(script, EIGHT_BIT, RELEASE)
    assert finished.exit_code == 3
    assert "settings for single parameters" in finished.only("plan_refused")["text"]


@needs_bitsandbytes
@pytest.mark.parametrize("name", ["mng", "index2config", "module_weight_config_triple"])
def test_a_release_that_does_not_tell_of_settings_in_8_bits_is_refused(job: Job, name: str) -> None:
    hidden = "from vramfit.private import bitsandbytes as b\nfor n in (b.manager, b.settings_by_place, "
    hidden += f"b.settings_of_modules):\n    if n.name == {name!r}:\n        n.name = 'gone'\n        "
    hidden += "n.paths = (b.OPTIMIZERS + ':Optimizer8bit.gone',)\n"
    finished = job.run(hidden + released(), EIGHT_BIT, RELEASE, cold=True)
    assert finished.exit_code == 3
    assert "does not tell whether it has settings" in finished.only("plan_refused")["text"]


RELEASE_REFUSED = {
    "gradients are looked at": "nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    "clipped, logged or changed (train.py:15 in": "kept.append(float(model[0].weight.grad.norm()))",
    "clipped, logged or changed": "model[0].weight.grad = torch.zeros(8, 4)",
    "another option, changes": "optimizer.param_groups[0]['lr'] = 0.5",
    "is called between": "model(torch.ones(2, 4))",
    "are zeroed between": "optimizer.zero_grad()",
    "second backward pass": "sum(p.sum() for p in model.parameters()).backward()",
    "given a closure": "optimizer.step(lambda: 0.0)",
    "weights are changed": "with torch.no_grad(): model[0].weight.clamp_(-0.1, 0.1)",
    "hooks of its own": "model[0].weight.register_post_accumulate_grad_hook(print)",
}


@pytest.mark.parametrize("reason", RELEASE_REFUSED)
def test_what_needs_all_gradients_at_once_is_refused(job: Job, reason: str) -> None:
    finished = job.run(released(between=RELEASE_REFUSED[reason]), RELEASE)
    assert finished.exit_code == 3
    assert reason in finished.only("plan_refused")["text"]


def test_a_gradient_that_is_looked_at_later_ends_the_job_there(job: Job) -> None:
    finished = job.run(released(between="step == 2 and model[0].weight.grad.norm(); print('reached', step)"), RELEASE)
    assert finished.exit_code == 3
    assert finished.stdout.count("reached") == 2
    assert "looked at" in finished.only("plan_refused")["text"]


def test_optimizers_whose_parameters_can_not_be_released_are_refused(job: Job) -> None:
    for optimizer, reason in (
        ("LBFGS(model.parameters())", "LBFGS is no optimizer"),
        ("SGD([torch.zeros(2, requires_grad=True)], 0.1)", "no parameters"),
        ("SGD(model.parameters(), 0.1); other = torch.optim.SGD(model[0].parameters(), 0.1)", "share a parameter"),
    ):
        assert reason in job.run(released(optimizer), RELEASE).only("plan_refused")["text"]
    by_hand = released(after="[setattr(p, 'grad', None) for p in model.parameters()]")
    assert job.run(by_hand, RELEASE).output() == {**job.run(by_hand).output(), "kept": [0] * 4}


def test_techniques_that_need_all_gradients_go_without_released_ones(job: Job) -> None:
    for rival in (
        {"id": "micro_batch", "micro_batch": 2, "accumulate": 4},
        {"id": "autocast", "dtype": "float16"},
    ):
        finished = job.run(training(), RELEASE, rival)
        assert finished.of_kind("plan_refused")[0]["id"] == "release_gradients"


# Trains two branches, the second of which sees no gradient in every other step, and looks where gradients are.
ZEROED = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    first, second = nn.Linear(4, 4), nn.Linear(4, 4)
    parameters = [*first.parameters(), *second.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.1)
    kept = []
    for step in range(6):
        loss = first(torch.ones(2, 4)).square().sum()
        if step % 2 == 0: loss = loss + second(torch.ones(2, 4)).square().sum()
        {before}
        loss.backward()
        if step != 3: optimizer.step()
        {after}
        kept.append(sum(p.grad is not None for p in parameters))
    print(json.dumps({{"values": [p.tolist() for p in parameters], "kept": kept}}))
"""
SET_TO_NONE = {"id": "zero_grad_set_to_none"}


@pytest.mark.parametrize(
    "call",
    [
        "optimizer.zero_grad(set_to_none=False)",
        "optimizer.zero_grad(False)",
        "first.zero_grad(False); second.zero_grad(False)",
    ],
)
def test_gradients_are_given_back_and_train_the_same(job: Job, call: str) -> None:
    plain = job.run(ZEROED.format(before="pass", after=call)).output()
    finished = job.run(ZEROED.format(before="pass", after=call), SET_TO_NONE)
    assert plain["kept"] == [4] * 6
    assert finished.output() == {"values": plain["values"], "kept": [0] * 6}
    assert finished.only("plan_applied")["id"] == "zero_grad_set_to_none"
    assert not finished.of_kind("plan_refused")
    assert not finished.of_kind("gradients_kept")


def test_a_step_without_a_backward_pass_still_decays_what_was_zeroed(job: Job) -> None:
    twice = "optimizer.zero_grad(False); optimizer.step()"
    plain = job.run(ZEROED.format(before="pass", after=twice)).output()
    assert job.run(ZEROED.format(before="pass", after=twice), SET_TO_NONE).output() == plain


def test_gradients_of_a_step_within_the_backward_pass_are_not_made_again(job: Job) -> None:
    script = """
        import json, torch
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
        optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}
        def step(p): optimizers[p].step(); optimizers[p].zero_grad(set_to_none=False)
        for p in optimizers: p.register_post_accumulate_grad_hook(step)
        for _ in range(3): model(torch.ones(2, 4)).sum().backward()
        print(json.dumps([p.grad is None for p in optimizers]))
    """
    assert job.run(script, SET_TO_NONE).output() == [True] * 4


def test_where_gradients_are_none_already_the_plan_is_refused(job: Job) -> None:
    finished = job.run(ZEROED.format(before="optimizer.zero_grad()", after="pass"), SET_TO_NONE)
    assert finished.exit_code == 3
    assert "to None already" in finished.only("plan_refused")["text"]
    by_hand = "[p.grad.zero_() for p in parameters if p.grad is not None]"
    finished = job.run(ZEROED.format(before=by_hand, after="pass"), SET_TO_NONE)
    assert finished.only("plan_refused")["id"] == "zero_grad_set_to_none"


def test_gradients_of_a_captured_step_stay_where_they_are(job: Job) -> None:
    script = """
        import torch
        model = torch.nn.Linear(4, 4).cuda()
        model(torch.ones(2, 4).cuda()).sum().backward()
        model.zero_grad(set_to_none=False)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(torch.ones(2, 4, device="cuda")).sum().backward()
    """
    finished = job.run(script, SET_TO_NONE, card=1 << 30)
    assert "captures a CUDA graph" in finished.only("plan_refused")["text"]


def test_where_a_script_keeps_its_gradients_is_noted_once(job: Job) -> None:
    zeroing = "optimizer.zero_grad(set_to_none=False)"
    note = job.run(ZEROED.format(before=zeroing, after="pass")).only("gradients_kept")
    assert note["after_forward"] is True
    assert note["line"].startswith("train.py:12 in <module>")
    assert job.run(ZEROED.format(before="pass", after=zeroing)).only("gradients_kept")["after_forward"] is False
    assert not job.run(ZEROED.format(before="pass", after="optimizer.zero_grad()")).of_kind("gradients_kept")
