"""What keeps a plan from a script is seen where no plan is applied, and never where a plan would have been."""

from __future__ import annotations

import importlib.util

import pytest
from embedding_habits import EMBEDDING_HABITS
from framework_habits import HABITS as FRAMEWORK_HABITS
from habit import Habit
from hooked_job import Finished, Job
from loop_habits import HABITS
from outcomes import CARD, train

BY_NAME = {habit.name: habit for habit in HABITS + EMBEDDING_HABITS + FRAMEWORK_HABITS}
IDS = {"micro_batch": "micro_batch", "release": "release_gradients"}
SEEN = [
    ("release", "clip_grad_norm_", "gradients are looked at after the backward pass"),
    ("release", "gradients logged", "gradients are looked at after the backward pass"),
    ("release", "own accumulation", "the model is called between"),
    ("release", "GAN: two optimizers in turn", "gradients are not zeroed between two backward passes"),
    ("release", "SGD with a closure", "given a closure"),
    ("release", "optimizer in backward", "hooks of its own on gradients"),
    ("micro_batch", "GAN: two optimizers in turn", "goes on training on a batch after the optimizer's step"),
    ("micro_batch", "LBFGS with a closure", "several times a step"),
    ("micro_batch", "own accumulation", "accumulates gradients itself"),
    ("micro_batch", "torch.autograd.grad by hand", "trains without backward()"),
    ("micro_batch", "steps counted, next(it)", "batches are drawn one by one"),
    ("micro_batch", "clipping by hooks on parameters", "hooks on parameters"),
]
# Those of which a little less would have a machine that only watches see what a plan does not do.
NONE = [
    ("release", "plain"),
    ("release", "AdamW"),
    ("release", "zero_grad after the step"),
    ("release", "p.grad = None"),
    ("release", "disabled GradScaler"),
    ("release", "reentrant checkpointing"),
    ("micro_batch", "plain"),
    ("micro_batch", "clip_grad_norm_"),
    ("micro_batch", "SGD with a closure"),
    ("micro_batch", "own accumulation, by the round"),
    ("micro_batch", "own accumulation, to the end of each pass"),
    ("micro_batch", "own accumulation of a cross entropy, scaled"),
    ("micro_batch", "a break by the round, after the step"),
    ("micro_batch", "a counter that only tells"),
    ("micro_batch", "enabled GradScaler without autocast"),
    ("micro_batch", "evaluation in between"),
    ("micro_batch", "HF Trainer"),
    ("micro_batch", "Lightning, so many batches"),
]


def watch(job: Job, habit: Habit) -> Finished:
    if habit.needs and importlib.util.find_spec(habit.needs) is None:
        pytest.skip(f"this environment has no {habit.needs}")
    return job.run(habit.script(), card=CARD, VRAMFIT_VALUES="cpu", VRAMFIT_OBSTACLES="1")


def find(finished: Finished, technique: str) -> list[str]:
    assert finished.exit_code == 0, finished.stderr
    assert finished.of_kind("hook_failed") == []
    found = finished.of_kind("plan_obstacle")
    return [each["text"] for each in found if each["id"] == IDS[technique] and each["loader"] in (None, 0)]


@pytest.mark.parametrize(("technique", "name", "text"), SEEN)
def test_what_a_plan_would_be_refused_for_is_seen_without_one(job: Job, technique: str, name: str, text: str) -> None:
    (found,) = find(watch(job, BY_NAME[name]), technique)
    assert text in found


@pytest.mark.parametrize(("technique", "name"), NONE)
def test_what_a_plan_applies_to_has_no_obstacle(job: Job, technique: str, name: str) -> None:
    assert find(watch(job, BY_NAME[name]), technique) == []


@pytest.mark.every_version
@pytest.mark.parametrize("technique", IDS)
@pytest.mark.parametrize("name", BY_NAME)
def test_no_obstacle_where_the_plan_applies(job: Job, technique: str, name: str) -> None:
    found = find(watch(job, BY_NAME[name]), technique)
    assert not found or train(job, BY_NAME[name], technique).of_kind("plan_refused"), found


@pytest.mark.parametrize("name", ["plain", "clip_grad_norm_", "GAN: two optimizers in turn", "own accumulation"])
def test_a_script_that_is_watched_trains_as_before(job: Job, name: str) -> None:
    without, with_it = train(job, BY_NAME[name], None), watch(job, BY_NAME[name])
    assert with_it.output() == without.output()

    def blocks(finished: Finished) -> list[tuple[str, int]]:
        return [(each.kind, each.size) for each in finished.records if each.kind in ("alloc", "free")]

    assert blocks(with_it) == blocks(without) != []
