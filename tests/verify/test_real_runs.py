"""Answers about real training scripts, counted again by src/verify: other code, another way, no shared parts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from product import ROOT, STAGE, Product

CHECKER = Path(os.environ.get("VRAMFIT_VERIFY_RUN") or STAGE.parent / "tools" / "vramfit_verify_run")
SCRIPTS = ROOT / "tests" / "torch" / "scripts"


def verify(product: Product, mode: str, gpu: str, *command: str) -> str:
    """What the checker looked at. Fails with what it found wrong."""
    assert CHECKER.exists(), "the checker was not built: ninja -C build/dev vramfit_verify_run"
    done = subprocess.run(
        [str(CHECKER), mode, gpu, *command],
        cwd=product.folder,
        env=product.environment(VRAMFIT_HOME=str(STAGE)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return next(
        line for line in done.stdout.splitlines() if re.match(r"\d+ processes|\w+, \d+ plans|\d+ forecasts", line)
    )


@pytest.mark.parametrize(
    ("gpu", "command", "processes"),
    [
        ("rtx3090", (str(ROOT / "examples" / "bert_large" / "train.py"), "--batch-size", "2", "--layers", "4"), 1),
        ("gtx1650", (str(ROOT / "examples" / "validation_oom" / "train.py"),), 1),  # it runs out
        ("rtx3060", (str(SCRIPTS / "detector.py"),), 1),
        ("rtx3060", (str(SCRIPTS / "hf_trainer.py"), "bf16"), 1),
        ("2xrtx3090", (str(SCRIPTS / "data_parallel.py"),), 1),
        ("2xrtx3090", ("-m", "torch.distributed.run", "--nproc-per-node=2", str(SCRIPTS / "ddp.py")), 2),
    ],
    ids=["bert", "validation", "detector", "trainer", "replicas", "ranks"],
)
def test_peaks_and_places_of_a_run(product: Product, gpu: str, command: tuple[str, ...], processes: int) -> None:
    seen = verify(product, "run", gpu, sys.executable, *command)
    recorded, records, blocks = (int(n) for n in re.findall(r"(\d+) (?:processes|records|blocks)", seen))
    assert recorded >= processes
    assert records > 500 and blocks > 200, seen


def test_plans_of_a_fit(product: Product) -> None:
    script = product.script("""
        import torch

        model = torch.nn.Sequential(*(torch.nn.Linear(2048, 2048) for _ in range(12))).cuda()
        optimizer = torch.optim.Adam(model.parameters())
        data = torch.utils.data.TensorDataset(torch.randn(4096, 2048), torch.randn(4096, 2048))
        for x, y in torch.utils.data.DataLoader(data, batch_size=1024):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
            optimizer.step()
        """)
    seen = verify(product, "fit", "rtx3060:1200MiB", sys.executable, str(script))
    assert re.match(r"plan_fits, [1-9]\d* plans proven", seen), seen


@pytest.mark.parametrize(
    ("command", "least"),
    [
        ((str(ROOT / "examples" / "bert_large" / "train.py"), "--batch-size", "4", "--layers", "6"), 10),
        ((str(SCRIPTS / "detector.py"),), 1),
        ((str(SCRIPTS / "hf_trainer.py"), "bf16"), 3),
    ],
    ids=["bert", "detector", "trainer"],
)
def test_forecasts_of_plans(product: Product, command: tuple[str, ...], least: int) -> None:
    """Each plan's peak, played by the planner, and counted again from the records of the run without it."""
    seen = verify(product, "forecast", "rtx3090", sys.executable, *command)
    assert int(seen.split()[0]) >= least, seen
