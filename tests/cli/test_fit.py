"""`vramfit fit` on small scripts: fits already, a proven plan, and no plan at all."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import jsonschema
import pytest
from product import VRAMFIT, Finished, Product, strict_schema, wait_for

pytestmark = pytest.mark.warm

# Activations of `--width` numbers per sample and layer decide; the weights are small.
SCRIPT = """
    import argparse
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--side", type=int, default=64)
    options = parser.parse_args()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            blocks = [nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()) for _ in range(8)]
            self.stem = nn.Conv2d(3, 32, 3, padding=1)
            self.blocks = nn.Sequential(*blocks)
            self.head = nn.Linear(32, 10)

        def forward(self, x):
            return self.head(self.blocks(self.stem(x)).mean((2, 3)))

    count = 8 * options.batch_size
    data = TensorDataset(torch.zeros(count, 3, options.side, options.side), torch.zeros(count, dtype=torch.long))
    loader = DataLoader(data, batch_size=options.batch_size, shuffle=True)
    model = Net().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for epoch in range(100):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
    print("trained")
"""


def fit(product: Product, *arguments: str, gpu: str, options: tuple[str, ...] = (), script: str = SCRIPT) -> Finished:
    file = product.script(script)
    report = product.folder / "fit.json"
    words = ["fit", "--gpu", gpu, "--json", str(report), *options, "--", sys.executable, str(file), *arguments]
    done = product.call(*words, timeout=240)
    if report.exists():
        done.result = json.loads(report.read_text())
        jsonschema.validate(done.result, strict_schema("run"))
    return done


def test_the_best_plan_is_shown_in_the_source_of_a_script_named_from_here(product: Product) -> None:
    name = product.script(SCRIPT).name
    job = ["--", sys.executable, name, "--batch-size", "64", "--side", "64"]
    done = product.call("fit", "--gpu", "rtx3060:768MiB", "--only", "checkpoint", "--no-verify", *job, timeout=240)
    assert done.exit_code == 0, str(done)
    assert "The best plan in your own source" in done.stdout
    assert f"\n  {name}\n    +def run_again_in_backward(model, names): ..." in done.stdout


def test_a_job_that_fits_already_needs_no_plan(product: Product) -> None:
    done = fit(product, "--batch-size", "4", gpu="rtx3090")
    assert done.exit_code == 0, str(done)
    assert "fits" in done.stderr + done.stdout


@pytest.mark.slow
def test_a_job_that_runs_out_gets_a_proven_plan_and_the_plan_works(product: Product) -> None:
    before = product.run(product.script(SCRIPT), "--batch-size", "720", gpu="gtx1650")
    assert before.result["verdict"] == "out_of_memory", str(before)
    plan = product.folder / "plan.json"
    done = fit(product, "--batch-size", "720", gpu="gtx1650", options=("--plan-out", str(plan)))
    assert done.exit_code == 0, str(done)
    assert "--plan" in done.stderr + done.stdout, "the command that applies the winner is given"
    techniques = json.loads(Path(plan).read_text())["techniques"]
    assert techniques
    after = product.run(
        product.folder / "train.py", "--batch-size", "720", gpu="gtx1650", options=("--plan", str(plan))
    )
    assert after.result["verdict"] == "fits", str(after)


@pytest.mark.slow
def test_the_largest_batch_fits_and_one_sample_more_does_not(product: Product) -> None:
    plan = product.folder / "plan.json"
    options = ("--goal", "max-batch", "--plan-out", str(plan))
    done = fit(product, "--batch-size", "100", gpu="rtx3060:2GiB", options=options)
    assert done.exit_code == 0, str(done)
    largest = done.result["fit"]["largest_batch"]
    assert largest["exact"] and largest["own"] == 100, largest
    size = largest["size"]
    assert json.loads(plan.read_text())["techniques"] == [{"batch_size": size, "id": "batch_size", "loaders": [0]}]
    assert re.search(rf"batch {size} is the largest that (fits|is\s+sure\s+to\s+fit)", done.stdout)
    # The batch is the script's own option, not a plan.
    for batch, verdict in ((size, ("fits",)), (size + 1, ("borderline", "out_of_memory"))):
        run = product.run(product.folder / "train.py", "--batch-size", str(batch), gpu="rtx3060:2GiB")
        assert run.result["verdict"] in verdict, f"batch {batch}: {run}"


@pytest.mark.cold
@pytest.mark.slow
@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_the_best_plan_that_was_proven_by_then(product: Product, which: signal.Signals) -> None:
    script, plan, report = product.script(SCRIPT), product.folder / "plan.json", product.folder / "fit.json"
    options = ["--plan-out", str(plan), "--json", str(report), "--budget", "300"]
    words = ["fit", "--gpu", "gtx1650", *options, "--", sys.executable, str(script), "--batch-size", "720"]
    out, log = product.folder / "out", product.folder / "log"
    with open(out, "wb") as output, open(log, "wb") as progress:
        process = subprocess.Popen(
            [str(VRAMFIT), *words], cwd=product.folder, env=product.environment(), stdin=subprocess.DEVNULL,
            stdout=output, stderr=progress, start_new_session=True,
        )  # fmt: skip
        try:
            # A plan has been proven: others are run with the time that was given. Not every one of them is told.
            others = ("cheaper ones", "against the forecast", "with room", "alternatives")
            wait_for(lambda: any(stage in log.read_text() for stage in others), 240)
            os.kill(process.pid, which)
            code = process.wait(30)
        finally:
            process.kill()
            process.wait()
    assert code == 0, log.read_text()
    assert "interrupted; the best so far: " in out.read_text()
    answer = json.loads(report.read_text())["fit"]
    assert answer["verdict"] == "plan_fits" and answer["interrupted"] and answer["plans"][0]["proven"], answer
    techniques = json.loads(plan.read_text())["techniques"]
    assert [change["id"] for change in techniques] == [change["id"] for change in answer["plans"][0]["techniques"]]


@pytest.mark.slow
def test_what_is_not_accepted_is_in_no_plan(product: Product) -> None:
    options = ("--accept", "equal", "--no-verify", "--budget", "1800MiB")
    done = fit(product, "--batch-size", "200", gpu="rtx3060", options=options)
    assert done.exit_code == 0, str(done)
    answer = done.result["fit"]
    assert answer["limit_bytes"] == 1800 << 20
    assert {plan["effect"] for plan in answer["plans"]} == {"same"}
    refused = {row["id"]: row["reason"] for row in answer["techniques"] if row["standing"] == "denied"}
    assert "--accept" in refused["autocast"] and "--accept" in refused["micro_batch"], "it has batch norms"
    assert ":1800MiB" in answer["prove_command"]


@pytest.mark.slow
def test_a_compiled_job_saves_less_for_backward_which_is_not_compared(product: Product) -> None:
    example = Path(__file__).parents[2] / "examples" / "remedies" / "compiled.py"
    job = ("--backend", "aot_eager")
    only = ("--only", "memory_budget")
    done = fit(product, *job, gpu="rtx3060:1000MiB", options=only, script=example.read_text())
    assert done.exit_code == 0, str(done)
    best = done.result["fit"]["plans"][0]
    assert best["techniques"] == [{"id": "memory_budget", "budget": 0.5}]
    assert best["effect"] == "rounding"
    assert best["equivalence"]["text"] == "not compared: what torch.compile makes computes no values without a card"


def test_a_budget_that_is_neither_time_nor_memory_is_refused(product: Product) -> None:
    done = fit(product, gpu="rtx3060", options=("--budget", "soon"))
    assert done.exit_code == 2 and "neither a time nor a size" in done.stderr, str(done)
    done = fit(product, gpu="rtx3060", options=("--budget", "99GiB"))
    assert done.exit_code == 2 and "is more than" in done.stderr, str(done)


@pytest.mark.slow
def test_a_job_that_nothing_can_save_exits_with_1(product: Product) -> None:
    done = fit(product, "--batch-size", "1", "--side", "16", gpu="rtx3060:700MiB", options=("--budget", "20"))
    assert done.exit_code in (0, 1), str(done)
    if done.exit_code == 0:
        assert "fits" in done.stderr + done.stdout


# Every batch of the evaluation leaves 256 MiB behind; training needs next to nothing.
GATHERS = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def evaluate(model, loader):
        {empty}
        with torch.no_grad():
            for x, y in loader:
                out = model(x.cuda()).repeat(1, 4096)
                {keep}
        return {use}

    data = TensorDataset(torch.zeros(1024, 64), torch.zeros(1024, dtype=torch.long))
    loader, held_out = DataLoader(data, batch_size=64), DataLoader(data, batch_size=64)
    model = nn.Linear(64, 256).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
            optimizer.step()
        evaluate(model, held_out)
"""


def fit_gathering(product: Product, empty: str, keep: str, use: str) -> Finished:
    script = product.script(GATHERS.format(empty=empty, keep=keep, use=use))
    report = product.folder / "fit.json"
    plan = product.folder / "plan.json"
    words = ["fit", "--gpu", "rtx3060:3GiB", "--json", str(report), "--plan-out", str(plan)]
    done = product.call(*words, "--", sys.executable, str(script), timeout=240)
    done.result = json.loads(report.read_text())
    jsonschema.validate(done.result, strict_schema("run"))
    return done


@pytest.mark.slow
def test_what_an_evaluation_gathers_in_a_list_goes_to_the_cpu(product: Product) -> None:
    done = fit_gathering(
        product, "kept = []", "kept.append((out, y.cuda()))", "torch.cat([out for out, _ in kept]).sum()"
    )
    answer = done.result["fit"]
    assert answer["verdict"] == "plan_fits", str(done)
    assert [change["id"] for change in answer["plans"][0]["techniques"]] == ["gather_on_cpu"]
    assert answer["cause"]["line"].endswith("train.py:11 in evaluate")
    assert "`kept`" in answer["cause"]["text"]


def test_what_it_gathers_in_a_tensor_needs_the_scripts_line_changed(product: Product) -> None:
    done = fit_gathering(
        product, "kept = torch.empty(0).cuda()", "kept = torch.cat([kept, out.flatten()])", "kept.sum()"
    )
    answer = done.result["fit"]
    assert (answer["verdict"], answer["runs"]) == ("needs_edit", 2), str(done)
    assert answer["cause"]["line"].endswith("train.py:11 in evaluate")
    assert done.exit_code == 1 and "the script itself has to change" in done.stdout


STEERED = """
    import torch
    from torch.utils.data import DataLoader

    model = torch.nn.Linear(1024, 4096).cuda()
    optimizer = torch.optim.SGD(model.parameters())
    for x in DataLoader(torch.rand(3 * 65536, 1024), batch_size=65536):
        out = model(x.cuda())
        if (out.amax() > 1e9).item():
            raise SystemExit("never")
        out.relu().sum().backward()
        optimizer.step()
"""


def test_the_run_with_plenty_follows_values_where_the_job_as_it_is_had_to(product: Product) -> None:
    """Both begin at once, and both end themselves at the first value that decides something."""
    done = fit(product, gpu="rtx3060:2GiB", options=("--no-verify",), script=STEERED)
    answer = done.result["fit"]
    train = next(phase for phase in answer["free_run"]["phases"] if phase["name"] == "train")
    assert train["steps"] == 3, str(done)
    assert train["peak_allocated_bytes"] > 2 * 65536 * 4096 * 4


def test_a_slow_job_ends_within_the_budget_and_is_out_of_time(product: Product) -> None:
    script = product.script("import time, torch\ntorch.zeros(9, device='cuda')\ntime.sleep(100)\n")
    done = product.call("fit", "--gpu", "gtx1650", "--budget", "5", "--", sys.executable, str(script), timeout=60)
    assert done.exit_code == 1 and "ran out of time" in done.stdout, str(done)


@pytest.mark.parametrize("is_chained", [True, False])
def test_a_script_that_fails_while_it_handles_its_oom_ran_out_of_memory(product: Product, is_chained: bool) -> None:
    """The script's handler calls a module, as milesial/Pytorch-UNet's does."""
    body = textwrap.dedent(SCRIPT)
    start = body.index("for epoch in range(100):")
    handler = "    torch.optim(model)\n" if is_chained else "    gone = True\n"
    after = "" if is_chained else "if 'gone' in globals(): torch.optim(model)\n"
    training = textwrap.indent(body[start:], "    ")
    text = body[:start] + "try:\n" + training + "except torch.OutOfMemoryError:\n" + handler + after
    before = product.run(product.script(text), "--batch-size", "720", gpu="gtx1650")
    assert before.result["oom"], str(before)
    assert before.result["verdict"] == ("out_of_memory" if is_chained else "failed")
    assert before.result["error"]["type"] == "TypeError"
    done = fit(product, "--batch-size", "720", gpu="gtx1650", options=("--no-verify",), script=text)
    assert done.exit_code == 0, str(done)
    assert done.result["fit"]["plans"][0]["standing"] == "fits"
