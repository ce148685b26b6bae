"""Each supported torch, in an environment that vramfit makes and keeps: it starts, trains and runs out of memory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from product import Finished, Product

pytestmark = pytest.mark.every_version

PLATFORMS = json.loads((Path(__file__).parents[2] / "platforms.json").read_text(encoding="utf-8"))
VERSIONS = tuple(release["version"] for release in reversed(PLATFORMS["torch"]))

TRAINS = """
    import torch
    from torch import nn
    print(torch.__version__)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.GELU())
            self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
            self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 10)

        def forward(self, x):
            tokens = self.conv(x).flatten(2).transpose(1, 2)
            tokens = tokens + self.attention(tokens, tokens, tokens, need_weights=False)[0]
            return self.head(self.norm(tokens).mean(1))

    model = Net().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    scaler = torch.amp.GradScaler("cuda")
    for step in range(3):
        x, y = torch.zeros(8, 3, 32, 32).cuda(), torch.zeros(8, dtype=torch.long).cuda()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    assert torch.cuda.max_memory_allocated() > 0
    try:
        torch.empty(2**41, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as error:
        print(str(error).split(".")[0])
"""


def run_with(product: Product, version: str) -> Finished:
    # The kept environments stay where they are from one test run to the next.
    cache = os.environ.get("VRAMFIT_CACHE") or str(Path.home() / ".cache" / "vramfit")
    script = product.script(TRAINS)
    words = ["run", "--gpu", "rtx3090", "--torch", version, "--steps", "all", "--", "python", str(script)]
    return product.call(*words, timeout=900, VRAMFIT_CACHE=cache)


@pytest.mark.parametrize("version", VERSIONS)
def test_it_trains_and_runs_out_of_memory(product: Product, version: str) -> None:
    done = run_with(product, version)
    if "(constraint) torch" in done.stderr:
        pytest.skip(f"pip's settings of this machine allow no torch {version}")
    assert done.exit_code == 0, str(done)
    first, last = done.stdout.splitlines()
    assert first.startswith(f"{version}+cu")
    assert last == "CUDA out of memory"
