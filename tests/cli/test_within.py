"""A run goes on in full for as long as --within says, and tells what of the script it did not come to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from product import VRAMFIT, Finished, Product, wait_for

pytestmark = pytest.mark.warm

MIB = 1 << 20

LOOP = """
    import torch
    from torch import nn
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(256, 256) for _ in range(4))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    def rows(count): return torch.ones(count, 256, device="cuda")
    def train_step(x):
        optimizer.zero_grad(); model(x).sum().backward(); optimizer.step()
    def evaluate(count):
        with torch.no_grad(): model(rows(count))
"""

EVALUATES_AT_TIMES = (
    LOOP
    + """
    for step in range(300):
        train_step(rows(64))
        if step % 100 == 99:
            evaluate(8192)
"""
)


def within(product: Product, text: str, span: str, *options: str, **extra: Any) -> Finished:
    return product.run(text, options=("--within", span, *options), **extra)


def peak(finished: Finished) -> float:
    return float(finished.result["devices"][0]["peak_allocated_bytes"]) / MIB


def test_an_evaluation_every_hundred_steps_is_seen_or_named(product: Product) -> None:
    short = within(product, EVALUATES_AT_TIMES, "0")
    assert short.result["verdict"] == "fits"
    assert short.result["verdict_words"] == "fits as far as it ran"
    (lines,) = [lines for lines in short.result["unreached"] if lines["card"] == "yes"]
    assert lines["code"] == "evaluate(8192)" and lines["when"] == "every 100 steps"
    assert "evaluate(8192), was not reached (every 100" in " ".join(short.stderr.split())
    longer = within(product, EVALUATES_AT_TIMES, "150n")
    assert peak(longer) > peak(short) + 5
    assert longer.result["verdict_words"] == "fits as far as it ran"
    assert longer.result["reach"]["batches"] == 150
    whole = product.run(EVALUATES_AT_TIMES, options=("--steps", "all"))
    assert peak(longer) == pytest.approx(peak(whole), rel=0.01)
    assert whole.result["reach"]["whole"] and whole.result["verdict_words"] == "fits"


def test_a_job_that_is_shorter_than_its_budget_is_not_cut(product: Product) -> None:
    done = within(product, EVALUATES_AT_TIMES + "    print('the end')\n", "5000n")
    assert done.stdout.endswith("the end\n")
    assert done.result["cuts"] == [] and done.result["reach"]["whole"]
    assert done.result["unreached"] == []


def test_the_budget_may_come_from_the_environment_and_has_to_make_sense(product: Product) -> None:
    done = product.run(EVALUATES_AT_TIMES, VRAMFIT_WITHIN="120n")
    assert done.result["reach"]["batches"] == 120
    refused = within(product, EVALUATES_AT_TIMES, "soon")
    assert refused.exit_code == 2 and "--within" in refused.stderr


def test_samples_that_were_neither_read_nor_looked_at_are_an_open_question(product: Product) -> None:
    text = (
        LOOP
        + """
    from torch.utils.data import DataLoader, Dataset, TensorDataset
    class Rows(Dataset):
        def __len__(self): return 4000
        def __getitem__(self, index): return torch.ones(256)
    for x in DataLoader(DATA, 10): train_step(x[0].cuda() if isinstance(x, list) else x.cuda())
    """
    )
    done = within(product, text.replace("DATA", "Rows()"), "100n")
    assert any("the samples of data loader 1 that were not read" in text for text in done.result["open"])
    done = within(product, text.replace("DATA", "TensorDataset(torch.ones(4000, 256))"), "100n")
    (told,) = done.result["open"]
    assert "what piles up over" in told
    assert done.result["verdict_words"] == "fits as far as it ran"


def test_what_comes_after_a_loop_that_was_ended_is_named(product: Product) -> None:
    text = LOOP + "    {loop}: train_step(rows(8))\n    evaluate(4096)\n"
    counted = within(product, text.format(loop="for step in range(10**9)"), "60n")
    assert counted.result["unreached"] == [] and peak(counted) > 4
    assert any("counted on from" in cut for cut in counted.result["cuts"])
    done = within(product, text.format(loop="while model is not None"), "60n")
    assert done.result["verdict_words"] == "fits as far as it ran"
    assert [lines["code"] for lines in done.result["unreached"]] == ["evaluate(4096)"]


def test_a_second_short_run_sees_an_evaluation_whose_memory_grows(product: Product) -> None:
    text = (
        LOOP
        + """
    from torch.utils.data import DataLoader, TensorDataset
    for epoch in range(3):
        for x, in DataLoader(TensorDataset(torch.ones(4000, 256)), 10):
            train_step(x.cuda())
        found = []
        with torch.no_grad():
            for x, in DataLoader(TensorDataset(torch.ones(40000, 256)), 1000):
                found.append(model(x.cuda()))
        del found
    """
    )
    done = within(product, text, "100n")  # used up in the first epoch: its evaluation gets one batch
    whole = product.run(text, options=("--steps", "all"))
    assert peak(done) == pytest.approx(peak(whole), rel=0.01)


@pytest.mark.parametrize("every", [1, 5, 40])
def test_a_leak_is_told_with_its_rhythm_and_its_end(product: Product, every: int) -> None:
    text = (
        LOOP
        + f"""
    kept = []
    for step in range(10**9):
        train_step(rows(64))
        if step % {every} == {every - 1}:
            kept.append(torch.ones({every} << 18, device="cuda"))   # a MiB a step
    """
    )
    done = within(product, text, "240n")
    (growth,) = [growth for growth in done.result["evidence"]["growth"] if growth["phase"] == "train"]
    assert growth["every"] == every
    assert growth["per_step_bytes"] == pytest.approx(MIB, rel=0.2)
    assert growth["runs_out_at_step"] == pytest.approx(12 * 1024, rel=0.25)
    assert done.result["verdict_words"] == "fits as far as it ran"
    assert any("the card is full at about step" in warning["text"] for warning in done.result["warnings"])


def test_a_queue_that_fills_is_no_leak(product: Product) -> None:
    text = (
        LOOP
        + """
    from collections import deque
    queue = deque(maxlen=60)
    for step in range(10**9):
        train_step(rows(64))
        queue.append(torch.ones(1 << 18, device="cuda"))
    """
    )
    done = within(product, text, "240n")
    assert done.result["evidence"]["growth"] == []
    assert peak(done) > 60
    assert done.result["verdict_words"] == "fits as far as it ran"


@pytest.mark.cold
def test_an_interrupted_run_gives_the_answer_so_far(product: Product) -> None:
    script = product.script(LOOP + "    while True: train_step(rows(64))\n")
    words = product.run_words(script, options=("--within", "600"))
    log = product.folder / "log"
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [str(VRAMFIT), *words], cwd=product.folder, env=product.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=output, start_new_session=True,
        )  # fmt: skip
        try:
            wait_for(lambda: "so far it fits" in log.read_text(), 120)
            os.kill(process.pid, signal.SIGINT)
            process.wait(60)
        finally:
            process.kill()
            process.wait()
    result = json.loads((product.folder / "result.json").read_text())
    assert result["verdict"] == "fits" and result["interrupted"], log.read_text()
    assert result["verdict_words"] == "fits as far as it ran"
    assert "it was interrupted" in result["open"]
    assert result["reach"]["batches"] > 0


def fit(product: Product, text: str, span: str) -> Finished:
    report = product.folder / "fit.json"
    script = str(product.script(text))
    words = ["fit", "--gpu", "rtx3060:1GiB", "--within", span, "--json", str(report), "--", sys.executable, script]
    return product.read(product.call(*words, timeout=300), report)


RUNS_OUT_LATE = (
    LOOP
    + """
    big = nn.Sequential(*(nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(8))).cuda()
    optimizer.add_param_group({"params": big.parameters()})
    for step in range(400):
        size = 1024 if step < 100 else 1 << 16
        loss = big(model(rows(size))).sum()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
"""
)


def test_fit_does_not_call_a_job_fitting_that_runs_out_later(product: Product) -> None:
    short = fit(product, RUNS_OUT_LATE, "0")
    assert short.result["fit"]["verdict"] == "fits_already", str(short)
    longer = fit(product, RUNS_OUT_LATE, "150n")
    assert longer.result["fit"]["verdict"] != "fits_already", str(longer)
    for plan in longer.result["fit"]["plans"]:
        assert plan["proven"]["peak_device_bytes"] < 1 << 30


RANKS = """
    import os, sys
    import torch, torch.distributed as dist, torch.multiprocessing as mp
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    def train(rank, spawned):
        torch.cuda.set_device(rank)
        where = dict(init_method="tcp://127.0.0.1:29577", rank=rank, world_size=2) if spawned else {}
        dist.init_process_group("nccl", **where)
        model = DistributedDataParallel(nn.Linear(256, 256).cuda(), device_ids=[rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        data = TensorDataset(torch.ones(1 << 16, 256))
        loader = DataLoader(data, 4, sampler=DistributedSampler(data, 2, rank, shuffle=True))
        step = 0
        for epoch in range(1000):
            for (x,) in loader:
                optimizer.zero_grad(); model(x.cuda()).sum().backward(); optimizer.step()
                step += 1
                if step % 90 == 0:
                    with torch.no_grad(): model(torch.ones(1 << 14, 256, device="cuda"))
        dist.destroy_process_group()

    if __name__ == "__main__":
        if "LOCAL_RANK" in os.environ: train(int(os.environ["LOCAL_RANK"]), False)
        else: mp.spawn(train, (True,), nprocs=2)
"""


@pytest.mark.cold
@pytest.mark.parametrize("way", ["torchrun", "spawn"])
def test_ranks_run_on_and_are_cut_after_the_same_batch(product: Product, way: str) -> None:
    script = product.script(RANKS)
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"] if way == "torchrun" else []
    report = product.folder / "run.json"
    words = ["--within", "8", "--json", str(report), "--", sys.executable, *launcher, str(script)]
    done = product.read(product.call("run", "--gpu", "2xrtx3090", *words), report)
    assert done.exit_code == 0, str(done)
    assert done.result["verdict_words"] == "fits as far as it ran", str(done)
    assert done.result["error"] is None
    assert done.result["reach"]["batches"] > 100
    for device in done.result["devices"]:
        assert device["peak_allocated_bytes"] > 16 * MIB, "the evaluation every 90 steps was reached on both cards"


def test_a_rollout_that_uses_up_the_time_is_not_all_that_is_seen(product: Product) -> None:
    """Reinforcement learning: the first step of training comes after more calls of the policy than the time is for."""
    text = """
        import time, torch
        policy = torch.nn.Linear(256, 256).cuda()
        optimizer = torch.optim.Adam(policy.parameters())
        state = torch.randn(64, 256, device="cuda")
        for update in range(3):
            seen = []
            for step in range(400):
                with torch.no_grad():
                    policy(state)
                time.sleep(0.01)
                seen.append(torch.randn(64, 256))
            batch = torch.cat(seen).cuda()
            loss = policy(batch.repeat(40, 1)).square().mean()
            optimizer.zero_grad(); loss.backward(); optimizer.step()
    """
    seen = within(product, text, "1")
    (training,) = [phase for phase in seen.result["phases"] if phase["name"] == "train"]
    assert training["steps"] > 0
    assert peak(seen) > 500
