"""Watching beside a job that runs under vramfit: PyTorch's own figures, and the exact peak of a command."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from typing import Any

import pytest
from product import VRAMFIT, Product, wait_for

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="there is no torch")

HOLD = """
import pathlib, sys, torch
kept = [torch.empty(256 << 20, dtype=torch.uint8, device="cuda") for _ in range(4)]
torch.mm(torch.ones(512, 512, device="cuda"), torch.ones(512, 512, device="cuda"))
pathlib.Path("ready").touch()
if len(sys.argv) > 1:
    input()
short = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
"""


def test_what_the_driver_counts_more_than_pytorch_is_explained(product: Product) -> None:
    script = product.script(HOLD)
    job = subprocess.Popen(
        [str(VRAMFIT), "run", "--files", "shared", "--gpu", "rtx3060", "--", sys.executable, str(script), "wait"],
        cwd=product.folder,
        env=product.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for((product.folder / "ready").exists, 90)

        def find() -> dict[str, Any] | None:
            seen = json.loads(product.call("watch", "--once", "--json", "-").stdout)
            own = [
                one for one in seen["processes"] if str(script) in (one["command"] or "") and one["name"] != "vramfit"
            ]
            return own[0]["cards"][0] if own and own[0]["cards"][0]["allocated_bytes"] else None

        use = wait_for(find)
        assert 1 << 30 <= use["allocated_bytes"] <= use["reserved_bytes"] < use["used_bytes"] < 2 << 30
        explained = use["reserved_bytes"] + use["context_bytes"] + use["library_bytes"]
        assert abs(use["used_bytes"] - explained) < 16 << 20
        text = product.call("watch", "--once", "--filter", str(script)).stdout
        assert "in tensors" in text and "context" in text and "virtual, session" in text
    finally:
        job.communicate(b"\n", timeout=60)


def test_the_peak_of_a_command_on_a_virtual_card_is_exact(product: Product) -> None:
    script = product.script(HOLD)
    peaks, result = product.folder / "peaks.json", product.folder / "result.json"
    run = ("run", "--gpu", "rtx3060", "--json", str(result), "--", sys.executable, str(script))
    done = product.call("watch", "--json", str(peaks), "--", str(VRAMFIT), *run, timeout=200)
    assert done.exit_code == 0, str(done)
    (card,) = [one for one in json.loads(peaks.read_text())["cards"] if one["virtual"]]
    assert card["exact"]
    assert card["peak_bytes"] == json.loads(result.read_text())["devices"][0]["peak_device_bytes"]
    assert "exact" in done.stderr
