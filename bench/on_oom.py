#!/usr/bin/env python3
"""What VRAMFIT_ON_OOM costs a training step while nothing happens.

    bench/on_oom.py --stage build/release/stage --python PYTHON [--batch 64] [--rounds 8] [--real-step-ms 100]

A ResNet-50 training step on a virtual card is nothing but the host's work, so what the report's hooks add to it is
measured there most exactly; compared with a step of a real card (`--real-step-ms`), whose kernels take the time, it is
what a job could lose at most, were the host never ahead of the card. With --device, on a machine with a card, the same
is measured on the card itself. Rounds with and without alternate, one process each; off a card the processor's time is
what counts, because it says the same on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

STEPS = """
import json, sys, time, torch, torchvision
torch.manual_seed(0)
model = torchvision.models.resnet50().cuda()
optimizer = torch.optim.AdamW(model.parameters())
images = torch.randn(int(sys.argv[1]), 3, 224, 224).cuda()
def step():
    model(images).sum().backward()
    optimizer.step(); optimizer.zero_grad()
def allocations(): return torch.cuda.memory_stats()["allocation.all.allocated"]
begin = time.perf_counter()
while time.perf_counter() - begin < 6: step()  # past the first seconds, in which every stack is taken
torch.cuda.synchronize()
steps, before = int(sys.argv[2]), allocations()
wall, processor = time.perf_counter(), time.process_time()
for _ in range(steps): step()
torch.cuda.synchronize()
wall, processor = time.perf_counter() - wall, time.process_time() - processor
figures = {"wall_ms": 1e3 * wall / steps, "processor_ms": 1e3 * processor / steps}
print(json.dumps({**figures, "allocations": (allocations() - before) / steps}))
"""


def measure(stage: Path, python: str, batch: int, steps: int, mode: str, on_card: bool) -> dict[str, float]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("VRAMFIT_")}
    if mode:
        own |= {"VRAMFIT_ON_OOM": mode}
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-c", STEPS, str(batch), str(steps)]
        if not on_card:
            command = [str(stage / "bin" / "vramfit"), "run", "--gpu", "a100-80gb", "--steps", "all", "--", *command]
        else:
            own["PYTHONPATH"] = str(stage / "python" / "vramfit" / "hook")
        done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-3000:])
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", type=Path, default=Path("build/release/stage"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--real-step-ms", type=float, default=100.0)
    parser.add_argument("--device", action="store_true", help="on this machine's card, without vramfit run")
    options = parser.parse_args()
    figures: dict[str, list[float]] = {"": [], "report": []}
    options.stage = options.stage.resolve()  # each round runs in a folder of its own
    made = 0.0
    for _ in range(options.rounds):
        for mode, means in figures.items():
            said = measure(options.stage, options.python, options.batch, options.steps, mode, options.device)
            means.append(said["wall_ms" if options.device else "processor_ms"])
            made = said["allocations"]
    without, with_report = (min(means) for means in figures.values())
    added = with_report - without
    step = without if options.device else options.real_step_ms
    print(f"step without            {without:8.2f} ms  ({made:.0f} allocations)")
    each = 1e3 * added / made
    print(f"step with the hooks     {with_report:8.2f} ms  ({added:+.2f} ms, {each:+.2f} us an allocation)")
    print(f"of a step of {step:6.1f} ms  {100 * added / step:8.2f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
