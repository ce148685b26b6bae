"""A run in a fork of a shared Python tells what a run in a Python of its own does: what the other tests rely on."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from product import Finished, Product
from warm_python import SharedPython

TRAINS = """
    import sys
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.zeros(512, 256), torch.zeros(512, dtype=torch.long))
    loader, held_out = DataLoader(data, batch_size=64), DataLoader(data, batch_size=128)
    model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for epoch in range(3):
        model.train()
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, file=sys.stderr)
        model.eval()
        with torch.no_grad():
            for x, y in held_out:
                model(x.cuda())
        torch.save(model.state_dict(), "model.pt")
    print("trained", sys.argv[1:])
"""

RUNS_OUT = """
    import torch

    def hold(count):
        kept = []
        for _ in range(count):
            kept.append(torch.empty(2**30, dtype=torch.uint8, device="cuda"))
        return kept

    kept = hold(64)
"""

STEERED = """
    import torch
    print("before")
    weights = torch.ones(1000, device="cuda")
    if float(weights.sum()) > 500:
        kept = torch.empty(2**30, dtype=torch.uint8, device="cuda")
    print("after", float(weights.sum()))
"""

PLACES = """
    import os, sys, tempfile
    from dataclasses import dataclass, fields
    import torch

    @dataclass
    class Options:
        size: int

    print(__name__, os.path.basename(__file__), sys.argv, fields(Options)[0].type, os.getcwd() == sys.path[0])
    print(tempfile.gettempdir() == os.environ["TMPDIR"], sys.stdin.read(), os.environ["COLOUR"])
    open("left_behind", "w").write("x" * 1000)
    os.write(2, b"straight to stderr\\n")
    torch.zeros(10).cuda()
    sys.exit("the end")
"""

HANGS = """
    import signal, sys, time
    import torch

    def told(*_):
        print("was asked to end", flush=True)
        sys.exit(5)

    signal.signal(signal.SIGTERM, told)
    torch.zeros(10).cuda()
    time.sleep(100)
"""

PICTURES = """
    import torch
    import torchvision

    model = torchvision.models.resnet18().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.zeros(4, 3, 64, 64, device="cuda")).sum().backward()
        optimizer.step()
"""

CUT = ("--steps", "3")  # how long a run goes on by itself depends on how fast it is
SMALLER = {"id": "micro_batch", "micro_batch": 16, "accumulate": 4, "loaders": [0]}
PLAN = {"version": 1, "name": "", "techniques": [SMALLER]}

SCRIPTS = {
    "trains": (TRAINS, {"options": CUT}),
    "diagnosed": (TRAINS, {"options": (*CUT, "--diagnose")}),
    "modules": (TRAINS, {"options": (*CUT, "--modules")}),
    "goes on": (TRAINS, {"options": ("--within", "10n")}),
    "shares files": (TRAINS, {"options": (*CUT, "--files", "shared")}),
    "follows a plan": (TRAINS, {"options": (*CUT, "--plan", "plan.json")}),
    "runs out": (RUNS_OUT, {}),
    "steered": (STEERED, {}),
    "places": (PLACES, {"COLOUR": "green"}),
    "raises": ("import torch\ndef inner():\n    raise ValueError('wrong')\ninner()\n", {}),
    "killed": ("import os, torch\ntorch.zeros(9).cuda()\nos.kill(os.getpid(), 9)\n", {}),
    "ended at its limit": (HANGS, {"options": ("--timeout", "8")}),
    "pictures": (PICTURES, {"options": CUT}),
    "trains after pictures": (TRAINS, {"options": CUT}),
}

_OF_A_RUN = {"wall_seconds", "host_peak_bytes", "pid", "seconds", "timeline"}  # the last is drawn by the clock


def comparable(value: Any) -> Any:
    """The parts of a result that two runs of one script have in common."""
    if isinstance(value, dict):
        return {name: comparable(item) for name, item in value.items() if name not in _OF_A_RUN}
    if isinstance(value, str):
        return re.sub(r"\([\d.]+ s\)", "", value)
    return [comparable(item) for item in value] if isinstance(value, list) else value


def told(finished: Finished) -> dict[str, Any]:
    spoken = re.sub(r"(?m)^run \d+: .*", lambda line: re.sub(r"run \d+|[\d.]+ (s|\wiB)", "", line[0]), finished.stderr)
    passing = "vramfit: running /"  # is said four times a second
    return {
        "exit": finished.exit_code,
        "stdout": finished.stdout,
        "stderr": [comparable(line) for line in spoken.splitlines() if not line.startswith(passing)],
        "result": comparable(finished.result),
    }


@pytest.mark.warm
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_fork_tells_what_a_process_of_its_own_does(product: Product, name: str) -> None:
    text, how = SCRIPTS[name]
    script = product.script(text)
    (product.folder / "plan.json").write_text(json.dumps(PLAN))
    warm = product.run(script, "--lr", "1", **how)
    cold = product.run(script, "--lr", "1", VRAMFIT_WARM="", **how)
    one, other = told(warm), told(cold)
    of_warm, of_cold = one["result"] or {}, other["result"] or {}
    # Kernels get structs whose padding holds what was on the stack, and it may look like a block's address: the bytes
    # that a step moves differ by that, by far less than the estimate's own interval.
    step, of_step = of_warm.pop("estimated_step_seconds", None), of_cold.pop("estimated_step_seconds", None)
    assert (step is None) == (of_step is None)
    assert step is None or 0.9 < step["low"] / of_step["low"] < 1.1
    fields = of_warm.keys() | of_cold.keys()
    assert [
        (name, of_warm.get(name), of_cold.get(name)) for name in fields if of_warm.get(name) != of_cold.get(name)
    ] == []
    assert one == other


WHO = "import os, torch\nprint(os.getppid())\n"


@pytest.mark.warm
def test_a_marked_test_runs_in_forks_of_the_shared_python(product: Product, shared_python: SharedPython) -> None:
    parent = f"{shared_python.process.pid}\n"
    assert product.run(WHO).stdout == parent
    for where in ({"VRAMFIT_WARM": ""}, {"PYTHONHASHSEED": "0"}):
        done = product.run(WHO, **where)
        assert done.exit_code == 0 and done.stdout != parent, str(done)


def test_others_run_in_a_python_of_their_own(product: Product, shared_python: SharedPython) -> None:
    assert product.run(WHO).stdout != f"{shared_python.process.pid}\n"


@pytest.mark.warm
def test_a_job_ends_when_the_vramfit_that_waits_for_it_is_killed(product: Product) -> None:
    import os
    import signal
    import subprocess

    from product import VRAMFIT, wait_for

    script = product.script("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n")
    words = [str(VRAMFIT), *product.run_words(script)]
    with subprocess.Popen(words, cwd=product.folder, env=product.environment(), stdout=subprocess.PIPE) as running:
        assert running.stdout
        pid = int(running.stdout.readline())
        os.kill(running.pid, signal.SIGKILL)

    def is_gone() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    wait_for(is_gone)
