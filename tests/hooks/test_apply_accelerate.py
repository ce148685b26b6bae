"""Loops over loaders that accelerate prepared, as transformers' *_no_trainer.py and diffusers' scripts have them."""

from __future__ import annotations

import importlib.util
import textwrap

import pytest
from hooked_job import Job
from small_training import assert_close

pytestmark = pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="no accelerate here")

# 20 samples in batches of 8: the last batch of an epoch is smaller.
SCRIPT = """
    import copy, json, torch
    from accelerate import Accelerator
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps={accumulated})
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader = DataLoader(TensorDataset(torch.randn(20, 6), torch.randn(20, 3)), batch_size=8)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=12)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    average = copy.deepcopy(model)
    completed, shapes = 0, []
    for epoch in range({epochs}):
        for step, (x, y) in enumerate(loader):
            shapes.append(len(x))
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                completed += 1
                for old, new in zip(average.parameters(), model.parameters()):
                    old.data.lerp_(new.data, 0.5)
            if completed >= {most}:
                break
    values = {{n: v.tolist() for n, v in [*model.state_dict().items(), *average.named_parameters("average")]}}
    print(json.dumps({{"values": values, "shapes": shapes, "lr": scheduler.get_last_lr()[0], "completed": completed}}))
"""
PARTS = {"id": "micro_batch", "micro_batch": 2, "accumulate": 4, "loaders": [0]}


@pytest.mark.parametrize(("accumulated", "most", "epochs"), [(1, 99, 4), (1, 5, 2), (2, 99, 4), (2, 3, 2), (3, 99, 4)])
def test_parts_of_a_batch_are_one_batch_to_accumulate(job: Job, accumulated: int, most: int, epochs: int) -> None:
    script = SCRIPT.format(accumulated=accumulated, most=most, epochs=epochs)
    plain = job.run(script).output()
    finished = job.run(script, PARTS)
    assert finished.of_kind("plan_refused") == []
    given = finished.output()
    assert given["shapes"][:10] == [2] * 10
    assert (given["lr"], given["completed"]) == (pytest.approx(plain["lr"]), plain["completed"])
    assert_close(given["values"], plain["values"])


def test_a_test_that_ends_each_further_pass_at_its_first_part_is_refused(job: Job) -> None:
    """It would end it after its first batch: the script breaks out of the inner loop alone."""
    refusal = job.run(SCRIPT.format(accumulated=1, most=5, epochs=4), PARTS).only("plan_refused")["text"]
    assert "leaves a pass over its data before the end, in the middle of a batch" in refusal


def test_without_accumulate_each_batch_is_a_step(job: Job) -> None:
    script = SCRIPT.format(accumulated=1, most=99, epochs=4).replace("with accelerator.accumulate(model):", "if True:")
    plain, finished = job.run(script).output(), job.run(script, PARTS)
    assert finished.of_kind("plan_refused") != [], "`completed` counts parts: no sync_gradients keeps it"
    script = script.replace("if completed >= 99:", "if False:").replace("                completed += 1\n", "")
    given = job.run(script, PARTS).output()
    assert given["lr"] == pytest.approx(plain["lr"])
    own = {name: value for name, value in plain["values"].items() if not name.startswith("average")}
    assert_close({name: given["values"][name] for name in own}, own)


def test_what_counts_parts_outside_of_sync_gradients_is_refused(job: Job) -> None:
    script = SCRIPT.format(accumulated=1, most=5, epochs=4).replace(
        "            if accelerator.sync_gradients:\n                completed += 1",
        "            if True:\n                completed += 1",
    )
    refusal = job.run(script, PARTS).only("plan_refused")["text"]
    assert "`completed`, which the script carries over" in refusal


def test_names_of_accelerate_that_are_gone_are_told_and_nothing_comes_in_parts(job: Job) -> None:
    hiding = """
from vramfit.private import accelerate as of_accelerate, names
for each in list(vars(of_accelerate).values()):
    if isinstance(each, names.Private):
        each.paths = tuple(path.replace(each.name, "gone_" + each.name) for path in each.paths)
"""
    script = hiding + textwrap.dedent(SCRIPT.format(accumulated=1, most=99, epochs=4))
    finished = job.run(script, PARTS, cold=True, timeout=300)
    assert "batches are drawn one by one" in finished.only("plan_refused")["text"]
    names = {note["name"] for note in finished.of_kind("name_gone")}
    assert names == {"__iter__", "_do_sync", "_set_sync_gradients"}
