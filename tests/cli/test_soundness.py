"""What a run did not see is said, and a plan or a file that makes no sense ends before the job begins."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from product import Product

pytestmark = pytest.mark.warm

THREE_LINES = """
    import torch
    x = torch.zeros(2**20, device="cuda")
    print(x.shape)
"""

TRAINS = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, in DataLoader(TensorDataset(torch.randn(64, 64)), batch_size=8):
        model(x.cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        print("stepped", flush=True)
"""


def losses(result: dict[str, Any]) -> dict[str, str]:
    return {loss["kind"]: loss["severity"] for loss in result["losses"]}


def write_plan(product: Product, text: str) -> tuple[str, ...]:
    (product.folder / "plan.json").write_text(text)
    return ("--plan", str(product.folder / "plan.json"))


def plan_of(*techniques: dict[str, Any]) -> str:
    return json.dumps({"version": 1, "name": "", "techniques": techniques})


MIXED = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, in DataLoader(TensorDataset(torch.randn(64, 64)), batch_size=8):
        x = 0.7 * x + 0.3 * x[torch.randperm(len(x))]
        model(x.cuda()).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def test_that_a_plan_trains_the_same_is_promised_where_nothing_compared_it(product: Product) -> None:
    """Samples meet in the inputs (mixup), which no graph shows."""
    plan = write_plan(product, plan_of({"id": "micro_batch", "micro_batch": 2, "accumulate": 4}))
    done = product.run(MIXED, options=plan)
    assert done.result["verdict"] == "fits", str(done)
    (promised,) = done.result["plan_promised"]
    assert promised.startswith("that it trains the same is promised, not compared here: vramfit verify ")
    assert promised.endswith("plan.json -- ... compares it")
    assert "Promised of the plan, not compared" in done.stderr
    exact = write_plan(product, plan_of({"id": "empty_cache", "before": ["train"]}))
    assert product.run(MIXED, options=exact).result["plan_promised"] == []


def test_nothing_is_lost_of_a_script_of_three_lines(product: Product) -> None:
    done = product.run(THREE_LINES)
    assert done.result["verdict"] == "fits", str(done)
    assert done.result["losses"] == []


@pytest.mark.cold
def test_a_child_that_asks_how_much_memory_is_free_needs_no_hooks(product: Product) -> None:
    done = product.run("""
        import subprocess, sys, torch
        torch.zeros(4, device="cuda")
        subprocess.run([sys.executable, "-S", "-E", "-c", "import sys; sys.path[:] = " + repr(sys.path) + "; import torch; print(torch.cuda.mem_get_info())"], check=True)
    """)  # noqa: E501
    assert done.result["verdict"] == "fits", str(done)
    assert losses(done.result) == {}


def test_a_recording_that_was_cut_short_makes_what_fits_borderline(product: Product) -> None:
    script = "import torch\nfor _ in range(40_000): torch.empty(1024, device='cuda')"
    done = product.run(script, options=("--steps", "all"), VRAMFIT_RECORD_LIMIT="4096")
    assert done.result["verdict"] == "borderline", str(done)
    assert losses(done.result) == {"recording_stopped": "wrong_answer_possible"}
    assert "the recording ends before the job did" in done.stderr


def test_blocks_that_nobody_told_of_make_what_fits_borderline(product: Product) -> None:
    script = """
        import torch
        from vramfit.base import recorder
        recorder.memory = lambda card, quantity: -1  # as where libc10 calls another function than the recorder's
        torch.ones(1024, device="cuda")
    """
    done = product.run(script)
    assert done.result["verdict"] == "borderline", str(done)
    assert losses(done.result) == {"blocks_unseen": "wrong_answer_possible"}
    assert "told of none of the blocks" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": 7, "techniques": [{"id": "autocast"}]}',
        plan_of(),
        plan_of({"id": "magic"}),
        plan_of({"id": "micro_batch", "micro_batch": 0}),
        plan_of({"id": "resize_input", "scale": -1}),
        plan_of({"id": "checkpoint", "modules": "layer1"}),
    ],
)
def test_a_senseless_plan_is_refused_before_the_job_starts(product: Product, text: str) -> None:
    done = product.run('print("started")', options=write_plan(product, text))
    assert (done.exit_code, done.stdout) == (2, ""), str(done)
    assert "plan.json" in done.stderr


@pytest.mark.parametrize(
    "technique",
    [
        {"id": "checkpoint", "modules": ["no.such.module"]},
        {"id": "micro_batch", "micro_batch": 64, "accumulate": 2},
        {"id": "optimizer", "name": "SGD", "options": {"no_such_option": True}},
    ],
    ids=lambda technique: technique["id"],
)
def test_a_plan_that_does_not_apply_ends_the_job_before_it_trains(product: Product, technique: dict[str, Any]) -> None:
    done = product.run(TRAINS, options=write_plan(product, plan_of(technique)))
    assert (done.exit_code, done.stdout) == (3, ""), str(done)
    assert done.result["verdict"] == "failed"
    assert done.result["plan_refused"][0].startswith(technique["id"])


@pytest.mark.cold
def test_modules_of_the_current_folder_are_not_taken_for_pythons(product: Product) -> None:
    for name in ("json", "re", "selectors", "socket"):
        (product.folder / f"{name}.py").write_text("raise RuntimeError('not this one')")
    inside = product.folder / "src"
    inside.mkdir()
    done = product.run(Path(product.script(THREE_LINES, "src/train.py")))
    assert done.result["verdict"] == "fits", str(done)


def test_pipes_that_nobody_uses_are_errors_and_not_waited_for(product: Product) -> None:
    pipe = str(product.folder / "pipe")
    os.mkfifo(pipe)
    script = product.script(THREE_LINES)
    command = ("run", "--gpu", "t4", "--json", pipe, "--", sys.executable, str(script))
    unread = product.call(*command)
    assert unread.exit_code != 0 and "pipe" in unread.stderr, str(unread)
    as_script = product.call("run", "--gpu", "t4", "--", sys.executable, pipe)
    assert as_script.exit_code == 2 and "read only once" in as_script.stderr, str(as_script)
