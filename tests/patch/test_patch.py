"""`vramfit patch` on scripts as strangers write them: its diff is applied by the real tools. The patched copy, run
without the plan, needs the same memory and trains the same as the script with the plan."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from product import ROOT, STAGE, VRAMFIT, Finished, Product

SCRIPTS = Path(__file__).resolve().parent / "scripts"
# A share of the peak. A patched loop keeps a name longer, or shorter, than the plan's own.
MEMORY_TOLERANCE = 0.03
# A share of each sum of weights: the same steps, summed in the same order but where a batch is split.
WEIGHT_TOLERANCE = 1e-4

MICRO = {"id": "micro_batch", "micro_batch": 4, "accumulate": 2, "loaders": [0]}
RELEASED = {"id": "release_gradients"}
BF16 = {"id": "autocast", "dtype": "bfloat16", "scaler": False}
# The output of tests/patch/scripts/evaluation: the plan moves it with the next batch, the patched script at once.
ONE_OUTPUT = 8 * 4 * 96 * 96 * 4


def keeping_products(*modules: str) -> dict[str, Any]:
    return {"id": "checkpoint", "modules": list(modules), "keep": "products"}


@dataclass
class Case:
    folder: str
    techniques: list[dict[str, Any]]
    left: list[str] = field(default_factory=list)  # ids that stay with the plan, in the order of the plan
    script: str = "train.py"
    tolerance: float = WEIGHT_TOLERANCE
    less: int = 0  # bytes that the patched script may need less
    needs: str = ""  # a package

    def __str__(self) -> str:
        return "-".join([self.folder, *(one.get("keep", "") + one["id"] for one in self.techniques)])


CASES = [
    Case("functions", [MICRO, {"id": "optimizer", "options": {"foreach": False}}, {"id": "no_grad_validation"}]),
    Case("functions", [{"id": "micro_batch", "micro_batch": 2, "loaders": [1]}, {"id": "empty_cache"}]),
    Case("functions", [BF16, {"id": "allocator", "conf": "expandable_segments:True"}], tolerance=1e-2),
    Case("trainer", [{**MICRO, "micro_batch": 2, "accumulate": 4}, {"id": "checkpoint", "modules": ["blocks.1"]}]),
    Case("trainer", [{"id": "offload_activations", "at_least": 4096}, RELEASED]),
    Case("script", [{"id": "checkpoint", "modules": ["0", "1", "3", "4"]}, {"id": "zero_grad_set_to_none"}]),
    Case("script", [{"id": "resize_input", "scale": 0.5}, {"id": "loader_options", "num_workers": 0}]),
    Case("script", [{"id": "optimizer", "name": "SGD", "options": {}}, {"id": "batch_size", "batch_size": 4}]),
    Case(
        "amp",
        [{**MICRO, "micro_batch": 256, "accumulate": 4}, {"id": "checkpoint", "modules": ["2", "4"]}],
        tolerance=1e-3,
    ),
    Case(
        "hugging_face",
        [MICRO, BF16, {"id": "checkpoint", "modules": ["bert.encoder.layer.0"]}],
        ["micro_batch", "autocast"],
        needs="transformers",
    ),
    Case("evaluation", [{"id": "no_grad_validation"}, {"id": "gather_on_cpu"}], script="test.py", less=ONE_OUTPUT),
    Case("pair", [BF16, {"id": "optimizer", "options": {"foreach": False}}], tolerance=1e-2),
    Case("trainer", [keeping_products("blocks.0", "blocks.1", "blocks.2")]),
    Case("resumed", [keeping_products("1", "2"), RELEASED]),
    Case("experiment", [keeping_products("1.0", "1.1"), {"id": "optimizer", "options": {"foreach": False}}]),
    Case("resumed", [RELEASED, {"id": "optimizer", "options": {"foreach": False}}]),
    Case(
        "trainer",
        [{"id": "optimizer", "name": "SGD", "options": {}}, RELEASED, {"id": "half_weights"}],
        ["half_weights"],
    ),
    Case("resumed", [{"id": "checkpoint", "modules": ["1", "2"]}]),
    Case("rows", [{"id": "sparse_embeddings"}]),
    Case("compiled", [{"id": "memory_budget", "budget": 0.5}]),
    Case("tabs", [{"id": "optimizer", "options": {"foreach": False}}, {**MICRO, "micro_batch": 64}], ["micro_batch"]),
]


SAVED = """
        import copy, io, torch
        from torch import nn
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 64), nn.Sequential(nn.Linear(64, 64), nn.ReLU()), nn.Linear(64, 1)).cuda()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(8, 64, device="cuda")).mean().backward()
            optimizer.step()
        saved = io.BytesIO()
        torch.save(model, saved)
        assert b"__main__" not in saved.getvalue(), "it would load beside this script alone"
        made = copy.deepcopy(model)
        made(torch.ones(8, 64, device="cuda")).mean().backward()
        assert made[1][0].weight.grad is not None and vars(made[1]).keys() == vars(nn.Sequential()).keys()
        print("weights", f"{float(model[0].weight.sum()):.6f}")
"""


@pytest.mark.parametrize("keep", [{}, {"keep": "products"}])
def test_a_model_that_a_patched_script_saves_loads_elsewhere(product: Product, keep: dict[str, str]) -> None:
    script = product.script(SAVED)
    _, without = run(product, script)
    plan = write_plan(product.folder / "plan.json", [{"id": "checkpoint", "modules": ["1"], **keep}])
    made = patch(product, script, plan, "--write")
    assert made.exit_code == 0 and "run_again_in_backward(model" in script.read_text(), made
    _, patched = run(product, script)
    assert patched == without


def copy_of(product: Product, case: Case, name: str) -> Path:
    folder = product.folder / name
    shutil.copytree(SCRIPTS / case.folder, folder)
    return folder


def write_plan(path: Path, techniques: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps({"version": 2, "name": "patched", "techniques": techniques}))
    return path


def patch(product: Product, script: Path, plan: Path, *options: str) -> Finished:
    words = ["patch", str(plan), "--gpu", "rtx3060", *options, "--", sys.executable, script.name]
    done = subprocess.run(
        [str(VRAMFIT), *words], cwd=script.parent, env=product.environment(), capture_output=True, text=True
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def run(product: Product, script: Path, *options: str) -> tuple[int, list[float]]:
    """The peak in bytes, and the numbers that the script prints of what it trained."""
    report = script.parent / "result.json"
    words = ["run", "--gpu", "rtx3060", "--values", "cpu", "--steps", "all", "--json", str(report), *options]
    done = subprocess.run(
        [str(VRAMFIT), *words, "--", sys.executable, script.name],
        cwd=script.parent,
        env=product.environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = " ".join(line for line in done.stdout.splitlines() if line.startswith(("weights", "outputs", "mean loss")))
    numbers = [float(one) for one in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", told)]
    assert numbers, done.stdout
    cards = json.loads(report.read_text())["devices"]
    return max(card["peak_allocated_bytes"] for card in cards), numbers


def apply(folder: Path, diff: str, tool: str) -> None:
    words = {"git": ["git", "apply", "-"], "patch": ["patch", "-p1", "--dry-run"]}[tool]
    done = subprocess.run(words, cwd=folder, input=diff, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr + diff


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_patched_script_needs_and_trains_what_the_plan_has_it(product: Product, case: Case) -> None:
    if case.needs and importlib.util.find_spec(case.needs) is None:
        pytest.skip(f"needs {case.needs}")
    check(product, case)


def check(product: Product, case: Case) -> None:
    with_plan, patched = copy_of(product, case, "with_plan"), copy_of(product, case, "patched")
    plan = write_plan(product.folder / "plan.json", case.techniques)
    made = patch(product, patched / case.script, plan)
    assert made.exit_code == (4 if case.left else 0), made
    assert re.findall(r"\[✗\] (\w+) is not", made.stderr) == case.left
    assert all((patched / path.name).read_bytes() == path.read_bytes() for path in (SCRIPTS / case.folder).glob("*.py"))
    apply(patched, made.stdout, "patch")
    apply(patched, made.stdout, "git")
    kept = [one for one in case.techniques if one["id"] not in case.left]
    planned = write_plan(product.folder / "kept.json", kept)
    peak, weights = run(product, with_plan / case.script, "--plan", str(planned))
    peak_patched, weights_patched = run(product, patched / case.script)
    print(f"{case}: {peak} bytes with the plan, {peak_patched} patched")
    assert peak * (1 - MEMORY_TOLERANCE) - case.less <= peak_patched <= peak * (1 + MEMORY_TOLERANCE)
    assert weights_patched == pytest.approx(weights, rel=case.tolerance, abs=1e-4)


def test_every_technique_has_a_change_or_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(STAGE / "python"))
    from vramfit.patch.changes import CHANGES

    schema = json.loads((ROOT / "docs" / "plan.schema.json").read_text())
    techniques = schema["properties"]["techniques"]["items"]["oneOf"]
    assert set(CHANGES) == {one["properties"]["id"]["const"] for one in techniques}


def test_a_loop_of_a_library_is_refused_by_its_name(product: Product) -> None:
    case = Case("library", [BF16, {"id": "optimizer", "options": {"foreach": False}}])
    folder = copy_of(product, case, "job")
    made = patch(product, folder / "train.py", write_plan(product.folder / "plan.json", case.techniques))
    assert made.exit_code == 4, made
    assert "autocast is not in the source: backward() is called by fitlib, not by the script" in made.stderr
    assert "+optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)" in made.stdout


def test_a_plan_of_which_nothing_can_be_written_changes_nothing(product: Product) -> None:
    folder = copy_of(product, Case("library", []), "job")
    made = patch(product, folder / "train.py", write_plan(product.folder / "plan.json", [BF16]))
    assert (made.exit_code, made.stdout) == (1, ""), made


def test_an_autocast_that_the_script_turned_off_is_left_to_the_plan(product: Product) -> None:
    folder = copy_of(product, Case("script", []), "job")
    made = patch(product, folder / "train.py", write_plan(product.folder / "plan.json", [BF16]))
    assert (made.exit_code, made.stdout) == (1, ""), made
    assert (
        "autocast is not in the source: the script has an autocast of its own, which is off (train.py:21)"
        in made.stderr
    )


COUNTED = {
    "an_object": (
        "class Steps:\n    done = 0\n    def __init__(self): self.done = 0\n"
        "    def weight(self):\n        self.done += 1\n        return 1.0 if self.done > 4 else 0.5\n"
        "steps = Steps()\n",
        "nn.functional.cross_entropy(net(x.cuda()), y.cuda()) * steps.weight()",
        "`Steps.done` goes on with each batch, and decides something",
    ),
    "a_loss": (
        "class Warm(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.done = 0\n"
        "    def forward(self, p, y):\n        self.done += 1\n"
        "        return nn.functional.cross_entropy(p, y) * (1.0 if self.done > 4 else 0.5)\n"
        "warm = Warm()\n",
        "warm(net(x.cuda()), y.cuda())",
        "`Warm.done` changes with each forward",
    ),
}


@pytest.mark.parametrize("counted", COUNTED)
def test_what_parts_of_a_batch_would_count_in_the_source_stays_with_the_plan(product: Product, counted: str) -> None:
    """The plan puts such a number back between parts of a batch; a patched source has nothing that would."""
    folder = copy_of(product, Case("script", []), "job")
    made, loss, why = COUNTED[counted]
    text = (folder / "train.py").read_text()
    text = text.replace("for epoch", made + "for epoch", 1).replace("nn.BatchNorm2d(24), ", "")
    (folder / "train.py").write_text(text.replace("nn.functional.cross_entropy(net(x.cuda()), y.cuda())", loss, 1))
    done = patch(product, folder / "train.py", write_plan(product.folder / "plan.json", [MICRO]))
    assert (done.exit_code, done.stdout) == (1, ""), done
    assert why in done.stderr


SUMS = (
    "nn.functional.cross_entropy(net(x.cuda()), y.cuda(), reduction='sum')",
    "nn.functional.cross_entropy(net(x.cuda()), y.cuda(), reduction='sum') / 8",
    "nn.functional.cross_entropy(net(x.cuda()), y.cuda(), reduction='sum') + 0.5 * net[0].weight.pow(2).sum()",
)


@pytest.mark.parametrize("loss", SUMS)
def test_losses_whose_parts_count_by_more_than_samples_stay_with_the_plan(product: Product, loss: str) -> None:
    """The plan weighs each part by what its loss is; a patched source by its samples, as is right for a mean."""
    folder = copy_of(product, Case("script", []), "job")
    text = (folder / "train.py").read_text().replace("nn.BatchNorm2d(24), ", "")
    (folder / "train.py").write_text(text.replace("nn.functional.cross_entropy(net(x.cuda()), y.cuda())", loss, 1))
    done = patch(product, folder / "train.py", write_plan(product.folder / "plan.json", [MICRO]))
    assert (done.exit_code, done.stdout) == (1, ""), done
    assert "its parts count by more than samples" in done.stderr


EVEN = {
    "a sum over its samples": "nn.functional.cross_entropy(net(x.cuda()), y.cuda(), reduction='sum') / len(x)",
    "that beside a mean": "nn.functional.cross_entropy(net(x.cuda()), y.cuda(), reduction='sum') / len(x)"
    " + 0.1 * net(x.cuda()).square().mean()",
}
AVERAGE = """    with torch.no_grad():
        for own, average in zip(net.parameters(), averages):
            average.lerp_(own, 0.5)
"""


@pytest.mark.parametrize("loss", EVEN)
@pytest.mark.parametrize("average", ["none", "an epoch", "a batch"])
def test_losses_by_samples_and_averages_of_epochs_are_written(product: Product, loss: str, average: str) -> None:
    folder = copy_of(product, Case("script", []), "job")
    text = (folder / "train.py").read_text().replace("nn.BatchNorm2d(24), ", "")
    text = text.replace("nn.functional.cross_entropy(net(x.cuda()), y.cuda())", EVEN[loss], 1)
    if average != "none":
        text = text.replace("for epoch", "averages = [p.detach().clone() for p in net.parameters()]\nfor epoch", 1)
        lines = AVERAGE if average == "an epoch" else "".join(f"    {line}\n" for line in AVERAGE.splitlines())
        text = text.replace('print("weights"', f'{lines}print("weights"', 1)
    (folder / "train.py").write_text(text)
    done = patch(product, folder / "train.py", write_plan(product.folder / "plan.json", [MICRO]))
    if average == "a batch":
        assert (done.exit_code, done.stdout) == (3, ""), done
        assert "a copy of weights, is changed" in done.stderr
    else:
        assert done.exit_code == 0, done
        assert "micro_batches.of" in done.stdout


TASK = """import torch
from torch import nn


class Task(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)).cuda()

    def setup(self):
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)


task = Task()
task.setup()
for _ in range(2):
    task.net(torch.ones(4, 8).cuda()).sum().backward()
    task.optimizer.step()
    task.optimizer.zero_grad()
"""


def test_a_function_calls_the_model_by_its_own_names(product: Product) -> None:
    """A name of the file holds it too in this run, and might not where the class is used from elsewhere."""
    script = product.script(TASK)
    made = patch(product, script, write_plan(product.folder / "plan.json", [{"id": "checkpoint", "modules": ["0"]}]))
    assert '+        run_again_in_backward(self.net, ["0"])' in made.stdout, made


def test_a_plan_that_does_not_apply_is_refused(product: Product) -> None:
    folder = copy_of(product, Case("amp", []), "job")
    made = patch(product, folder / "train.py", write_plan(product.folder / "plan.json", [BF16]))
    assert made.exit_code == 3, made
    assert "the script uses autocast with bfloat16 already" in made.stderr


def test_write_keeps_what_was_there(product: Product) -> None:
    folder = copy_of(product, Case("script", []), "job")
    before = (folder / "train.py").read_bytes()
    plan = write_plan(product.folder / "plan.json", [{"id": "batch_size", "batch_size": 4}])
    made = patch(product, folder / "train.py", plan, "--write")
    assert made.exit_code == 0, made
    assert (folder / "train.py.orig").read_bytes() == before
    assert "loader = DataLoader(TensorDataset(x_all, y_all), 4)" in (folder / "train.py").read_text()


def test_output_goes_to_a_file(product: Product) -> None:
    folder = copy_of(product, Case("script", []), "job")
    plan = write_plan(product.folder / "plan.json", [{"id": "batch_size", "batch_size": 4}])
    made = patch(product, folder / "train.py", plan, "--output", str(product.folder / "out.diff"))
    assert (made.exit_code, made.stdout) == (0, ""), made
    apply(folder, (product.folder / "out.diff").read_text(), "git")


def test_help_has_two_examples(product: Product) -> None:
    shown = product.call("patch", "--help")
    assert shown.stdout.count("vramfit patch") >= 2 and shown.exit_code == 0


@pytest.mark.parametrize(
    "layer",
    [
        "nn.utils.parametrizations.spectral_norm(nn.Linear(64, 64))",
        "Counting(64, 64)",
    ],
)
def test_a_block_that_leaves_more_than_its_output_is_run_again_by_the_plan_alone(product: Product, layer: str) -> None:
    script = product.script(f"""
        import torch
        from torch import nn
        class Counting(nn.Linear):
            calls = 0
            def forward(self, x):
                self.calls += 1
                return super().forward(x) / self.calls
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 64), nn.Sequential({layer}, nn.ReLU()), nn.Linear(64, 1)).cuda()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(8, 64, device="cuda")).mean().backward()
            optimizer.step()
    """)
    plan = product.folder / "plan.json"
    plan.write_text(json.dumps({"version": 2, "name": "x", "techniques": [{"id": "checkpoint", "modules": ["1"]}]}))
    made = product.call("patch", str(plan), "--gpu", "rtx3060", "--", sys.executable, str(script))
    assert "checkpoint is not in the source: Sequential changes something in its forward" in made.stderr, made
