"""What a private layer for a job's files costs: the same small training in each kind of layer, and without one.

    python bench/files.py PYTHON [--rounds 5]

Prints seconds of processor time and of the clock, the median of all rounds, which take turns. PYTHON has a torch.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

JOB = """
import torch
from torch import nn
model = nn.Sequential(*[nn.Linear(512, 512) for _ in range(8)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
data = torch.utils.data.DataLoader(torch.zeros(4096, 512), batch_size=16)
for epoch in range(4):
    for x in data:
        optimizer.zero_grad()
        model(x.cuda()).square().mean().backward()
        optimizer.step()
    torch.save(model.state_dict(), f"epoch{epoch}.pt")
"""
NONE = "none"
KINDS = (NONE, "overlay", "user_namespace", "supervisor")


def run(program: Path, python: str, kind: str) -> tuple[float, float]:
    """Seconds of the processor, of the clock."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("VRAMFIT_")}
    own |= {"VRAMFIT_STORE": "none", "PYTHONDONTWRITEBYTECODE": "1"}
    options = ["--files", "shared", "--network"]
    if kind != NONE:
        own["VRAMFIT_LAYER_KIND"] = kind
        options = []
    with tempfile.TemporaryDirectory() as folder:
        words = [str(program), "run", "--gpu", "rtx3060", "--steps", "all", *options, "--", python, "-c", JOB]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(words, cwd=folder, env=own, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        clock, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-3000:])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("--stage", type=Path, default=Path(__file__).parents[1] / "build" / "dev" / "stage")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    seen: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for _ in range(options.rounds):
        for kind in KINDS:
            seen[kind].append(run(options.stage / "bin" / "vramfit", options.python, kind))
    base = [statistics.median(one[i] for one in seen[NONE]) for i in (0, 1)]
    for kind in KINDS:
        cpu, clock = (statistics.median(one[i] for one in seen[kind]) for i in (0, 1))
        extra = f"{100 * (cpu / base[0] - 1):+.1f} % processor, {100 * (clock / base[1] - 1):+.1f} % clock"
        print(f"{kind:15} {cpu:6.2f} s processor {clock:6.2f} s clock   {extra}")


if __name__ == "__main__":
    sys.exit(main())
