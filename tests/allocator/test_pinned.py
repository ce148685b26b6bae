"""The pinned host allocator's simulator and PyTorch's own agree in every statistic (2.9 and later have them)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch_release
from comparison import simulate
from product import Product

SHARED = ("--steps", "all", "--files", "shared")  # what the job writes is read here
JOB = """
    import json, random, sys, torch
    torch.cuda.init()
    dice, live, calls, said, slots = random.Random(4), {}, [], [], 0
    names = ("allocations", "allocated_bytes", "active_requests", "active_bytes")
    def say():
        stats = torch.cuda.host_memory_stats()
        calls.append("pinstats")
        for name in names:
            values = [stats[f"{name}.{kind}"] for kind in ("current", "peak", "allocated", "freed")]
            said.append(" ".join(map(str, [name, *values])))
        said.extend(f"{name} {stats[name]}" for name in ("num_host_alloc", "num_host_free"))
        said.append("#")
    for step in range(1500):
        if dice.random() < 0.52 or not live:
            size = int(2 ** dice.uniform(0, 22))
            live[slots] = torch.empty(size, dtype=torch.uint8, pin_memory=True)
            calls.append(f"pin {slots} {size}")
            slots += 1
        else:
            slot = dice.choice(list(live))
            del live[slot]
            calls.append(f"unpin {slot}")
        if step % 500 == 499:
            torch._C._host_emptyCache()
            calls.append("emptypins")
        if step % 100 == 0:
            say()
    say()
    json.dump({"calls": calls, "said": said}, open(sys.argv[1], "w"))
"""


@pytest.mark.skipif(torch_release.of_this_interpreter() < (2, 9), reason="its statistics came with 2.9")
def test_pinned_memory_is_kept_as_pytorch_keeps_it(product: Product, play: Path) -> None:
    report = product.folder / "pinned.json"
    done = product.run(JOB, str(report), options=SHARED)
    assert report.exists(), str(done)
    real = json.loads(report.read_text())
    program = product.folder / "pinned.program"
    program.write_text("\n".join(real["calls"]) + "\n")
    assert simulate(play, program).splitlines() == real["said"]
