"""`vramfit run` as a user meets it: verdicts, exit codes, what goes to which stream, the JSON result."""

from __future__ import annotations

import json
import sys
from typing import Any

import jsonschema
import pytest
from product import Product, strict_schema

pytestmark = pytest.mark.warm

MIB = 1 << 20

FITS = """
    import sys
    import torch
    x = torch.zeros(64 * 2**20, device="cuda")  # 256 MiB
    print("sum", (x @ x).shape, flush=True)
    print("not for stdout", file=sys.stderr)
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

TRAINS = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.zeros(4096, 256), torch.zeros(4096, dtype=torch.long))
    loader, held_out = DataLoader(data, batch_size=64), DataLoader(data, batch_size=512)
    model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for epoch in range(1000):
        model.train()
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for x, y in held_out:
                model(x.cuda())
        torch.save(model.state_dict(), "model.pt")
"""


def validate(result: dict[str, Any]) -> None:
    schema = strict_schema("run")
    jsonschema.validate(result, schema)


def test_a_training_step_has_an_estimated_time_with_its_range(product: Product) -> None:
    seconds = []
    for width in (1024, 65536):
        done = product.run(TRAINS.replace("1024", str(width)), options=("--within", "0"))
        validate(done.result)
        step = done.result["estimated_step_seconds"]
        assert step["low"] < step["seconds"] < step["high"] and step["source"] == "model"
        seconds.append(step["seconds"])
    # Sixty-four times as wide; its launches, which are as many, are what the small one waits for.
    assert seconds[1] > seconds[0] > 0
    assert product.run(FITS).result["estimated_step_seconds"] is None


@pytest.mark.cold
def test_a_job_that_fits_says_so_and_leaves_stdout_alone(product: Product) -> None:
    done = product.run(FITS)
    assert done.exit_code == 0, str(done)
    assert done.stdout == "sum torch.Size([])\n"
    assert "not for stdout" in done.stderr
    validate(done.result)
    assert done.result["verdict"] == "fits"
    assert done.result["exit_code"] == 0
    (card,) = done.result["devices"]
    assert card["index"] == 0 and "3060" in card["name"]
    assert card["peak_allocated_bytes"] >= 256 * MIB
    assert card["peak_allocated_bytes"] <= card["peak_reserved_bytes"] < card["peak_device_bytes"] < card["total_bytes"]
    assert card["peak_device_bytes"] >= card["peak_reserved_bytes"] + card["context_bytes"]
    assert done.result["oom"] is None


@pytest.mark.cold
def test_a_script_that_is_not_there_is_told_before_anything_is_made(product: Product) -> None:
    done = product.call("run", "--gpu", "rtx3060", "--", "python", "no_such_script.py", "--epochs", "3")
    assert done.exit_code == 2
    assert 'there is no script "no_such_script.py"' in done.stderr and "environment" not in done.stderr


@pytest.mark.parametrize("code", [3, 77])
def test_the_childs_exit_code_is_returned(product: Product, code: int) -> None:
    done = product.run(f"import sys, torch\nsys.exit({code})\n")
    assert done.exit_code == code
    assert done.result["verdict"] == "failed" and done.result["exit_code"] == code


def test_running_out_of_memory_is_explained_with_the_scripts_own_lines(product: Product) -> None:
    done = product.run(RUNS_OUT)
    assert done.exit_code == 1, str(done)
    validate(done.result)
    assert done.result["verdict"] == "out_of_memory"
    oom = done.result["oom"]
    assert oom["tried_bytes"] == 1 << 30
    assert "CUDA out of memory. Tried to allocate 1024.00 MiB" in oom["message"] or "1.00 GiB" in oom["message"]
    assert [frame["function"] for frame in oom["stack"] if frame["file"].endswith("train.py")][-1] == "hold"
    assert "torch.OutOfMemoryError" in done.stderr, "the script's own traceback is kept"


def test_an_oom_that_the_script_handles_is_no_failure(product: Product) -> None:
    done = product.run("""
        import torch
        try:
            torch.empty(2**40, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError:
            print("smaller, then")
        torch.zeros(1000, device="cuda")
    """)
    assert (done.exit_code, done.stdout) == (0, "smaller, then\n"), str(done)
    assert done.result["verdict"] == "fits"


def test_another_exception_is_a_failure_and_no_oom(product: Product) -> None:
    done = product.run("import torch\nraise ValueError('wrong shape')\n")
    assert done.exit_code == 1
    assert done.result["verdict"] == "failed" and done.result["oom"] is None


def test_a_job_that_trains_for_days_answers_in_seconds_with_its_phases(product: Product) -> None:
    done = product.run(TRAINS, timeout=90)
    assert done.exit_code == 0, str(done)
    validate(done.result)
    peaks = {phase["name"]: phase for phase in done.result["phases"]}
    assert {"train", "validate"} <= set(peaks)
    assert peaks["train"]["peak_allocated_bytes"] > 0
    assert done.result["wall_seconds"] > 0
    assert {"weights", "activations", "context"} <= {owner["owner"] for owner in done.result["owners_at_peak"]}
    assert "batches" in done.stderr or "steps" in done.stderr, "what was cut is said"


def test_a_script_that_reads_what_steers_it_is_run_again_without_a_word(product: Product) -> None:
    done = product.run("""
        import torch
        print("one")
        scores = (torch.rand(1024, 1024, device="cuda") @ torch.rand(1024, 1024, device="cuda")).flatten()
        hardest = scores[scores > 0.5]
        assert len(hardest) > 0, "nothing to learn from"
        print(len(hardest))
    """)
    assert (done.exit_code, done.stdout) == (0, f"one\n{1 << 20}\n"), str(done)
    validate(done.result)
    assert done.result["verdict"] == "fits"
    (read,) = done.result["depends_on_data"]
    assert read["what"] == "a size (a mask, taken for full)" and read["line"].startswith("train.py:"), read
    assert "again" not in done.stderr


def test_a_script_that_fails_over_a_number_that_reads_as_zero_is_run_again(product: Product) -> None:
    done = product.run("""
        import math, torch
        loss = (torch.rand(1024, 1024, device="cuda") @ torch.rand(1024, 1024, device="cuda")).mean()
        print(math.log(loss.item()) < 1)
    """)
    assert (done.exit_code, done.stdout) == (0, "True\n"), str(done)
    assert "again, following them" in done.stderr


def test_a_failure_that_tracked_values_do_not_mend_is_told(product: Product) -> None:
    done = product.run("""
        import torch
        scores = (torch.rand(1024, 1024, device="cuda") @ torch.rand(1024, 1024, device="cuda"))[0]
        raise ValueError(f"{len(scores[scores > 0.5])} of them")
    """)
    assert done.exit_code == 1 and done.result["verdict"] == "failed"
    assert done.result["error"]["message"] == "1024 of them"
    assert done.result["error"]["remedy"].startswith("--values cpu")


def test_occupied_memory_is_not_there_for_the_job(product: Product) -> None:
    text = "import torch\nprint(torch.cuda.mem_get_info()[0])\n"
    free = int(product.run(text).stdout)
    left = int(product.run(text, options=("--occupied", "2GiB")).stdout)
    assert free - left == 2048 * MIB


def test_a_smaller_card_of_the_same_name_can_be_asked_for(product: Product) -> None:
    done = product.run("import torch\nprint(torch.cuda.get_device_properties(0).total_memory)\n", gpu="rtx3090:20GiB")
    assert int(done.stdout) == 20480 * MIB, str(done)


@pytest.mark.parametrize(("order", "is_upward"), [("auto", False), ("linux", False), ("wsl", True)])
def test_addresses_go_down_on_linux_and_up_under_wsl(product: Product, order: str, is_upward: bool) -> None:
    text = """
        import torch
        first = torch.empty(30 << 20, device="cuda")
        second = torch.empty(30 << 20, device="cuda")
        print("upward" if first.data_ptr() < second.data_ptr() else "downward")
    """
    done = product.run(text, gpu="RTX 4060 Ti", options=("--address-order", order))
    assert done.stdout == ("upward\n" if is_upward else "downward\n")
    assert ("--address-order wsl" in done.stderr) == is_upward


def test_several_cards(product: Product) -> None:
    done = product.run(
        "import torch\nprint([torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())])\n",
        gpu="gtx1650,2xT4",
    )
    assert done.stdout.count("T4") == 2 and done.stdout.count("1650") == 1, str(done)
    assert len(done.result["devices"]) == 3


@pytest.mark.parametrize("name", ["GTX 1650", "gtx1650", "NVIDIA GeForce GTX 1650", "GeForce GTX1650"])
def test_a_card_is_found_in_any_spelling(product: Product, name: str) -> None:
    done = product.run("import torch\nprint(torch.cuda.get_device_name())\n", gpu=name)
    assert done.stdout == "NVIDIA GeForce GTX 1650\n", str(done)


def test_an_unknown_card_is_a_usage_error_with_near_names(product: Product) -> None:
    done = product.run("", gpu="GTX 1660 Superb")
    assert done.exit_code == 2
    assert "1660" in done.stderr
    assert done.stdout == "" and done.result == {}


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--gpu", "t4"),
        ("run", "--gpu", "t4", "--", "no-such-program"),
        ("run", "--", "python", "x.py"),
        ("run", "--gpu", "t4", "--steps", "some", "--", "python", "x.py"),
        ("run", "--gpu", "t4", "--plan", "none.json", "--", "python", "x.py"),
        ("run", "--gpu", "t4", "--occupied", "much", "--", "python", "x.py"),
        ("frobnicate",),
        (),
    ],
)
def test_usage_errors_exit_with_2_and_talk_on_stderr(product: Product, words: tuple[str, ...]) -> None:
    done = product.call(*words)
    assert done.exit_code == 2, str(done)
    assert done.stdout == "" and done.stderr != ""


def test_the_catalogue_lists_at_least_45_cards(product: Product) -> None:
    done = product.call("gpus", "--json", "-")
    assert done.exit_code == 0, str(done)
    listed = json.loads(done.stdout)
    cards = listed.get("cards") or listed.get("gpus")
    assert len(cards) >= 45
    assert product.call("gpus").stdout.count("\n") >= 45


def test_version_and_help(product: Product) -> None:
    assert product.call("--version").stdout.startswith("vramfit 0.")
    for words in (("--help",), ("run", "--help"), ("fit", "--help"), ("gpus", "--help"), ("env", "--help")):
        done = product.call(*words)
        assert done.exit_code == 0 and "Usage" in done.stdout, words


@pytest.mark.parametrize("verb", ["run", "fit", "doctor"])
def test_a_program_that_is_none_has_failed_in_the_history(product: Product, verb: str) -> None:
    done = product.call(verb, "--gpu", "rtx3060", "--", "nosuchprogram")
    assert done.exit_code == 2 and "nosuchprogram is not a program" in done.stderr
    newest = json.loads(product.call("runs", "--json", "-").stdout)["runs"][0]
    assert newest["command"] == ["nosuchprogram"] and newest["verb"] == verb
    assert (newest["state"], newest["verdict"], newest["exit_code"]) == ("ended", "failed", 2)
    assert "nosuchprogram is not a program" in newest["reason"]


def test_a_module_the_script_lacks_is_told_how_to_get(product: Product) -> None:
    done = product.run("import torch\nimport no_such_module_anywhere\n")
    assert done.exit_code == 1
    assert "no_such_module_anywhere" in done.stderr


TWO_PASSES = """
import torch
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Linear(8, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, in DataLoader(TensorDataset(torch.ones(4000, 8)), 4, shuffle=True):
    model(x.cuda()).sum().backward()
    optimizer.step()
"""


@pytest.mark.cold
def test_a_job_with_a_python_path_of_its_own_keeps_the_hooks(product: Product) -> None:
    script = product.script(TWO_PASSES)
    words = ["run", "--gpu", "t4", "--json", "run.json", "--", "env", "PYTHONPATH=.", sys.executable, str(script)]
    done = product.call(*words)
    assert done.exit_code == 0, str(done)
    result = json.loads((product.folder / "run.json").read_text())
    assert "train" in [phase["name"] for phase in result["phases"]]
    assert result["warnings"] == []


@pytest.mark.cold
def test_a_python_that_takes_no_hooks_is_told(product: Product) -> None:
    script = product.script("import torch\ntorch.zeros(1 << 20, device='cuda')\n")
    done = product.call("run", "--gpu", "t4", "--json", "run.json", "--", sys.executable, "-I", str(script))
    assert done.exit_code == 0, str(done)
    result = json.loads((product.folder / "run.json").read_text())
    assert "process_without_hooks" in [loss["kind"] for loss in result["losses"]], result["losses"]
    assert result["devices"][0]["peak_allocated_bytes"] == 4 * MIB


RANKS = """
import sys
import torch
import torch.multiprocessing as mp

def train(rank):
    model = torch.nn.Linear(1 << 14, 1 << 14, device="cuda")
    {end}

if __name__ == "__main__":
    {start}
"""
DIES = {
    "spawn": "mp.spawn(train, nprocs=1)",
    "process": "p = mp.get_context('spawn').Process(target=train, args=[0]); p.start(); p.join(); sys.exit(p.exitcode)",
}


@pytest.mark.cold
@pytest.mark.parametrize("way", DIES)
def test_a_rank_that_runs_out_of_memory_is_the_jobs_verdict(product: Product, way: str) -> None:
    text = RANKS.format(end="model(torch.ones(1 << 16, 1 << 14, device='cuda'))", start=DIES[way])
    done = product.run(text, gpu="rtx3060:4GiB")
    assert done.exit_code == 1, str(done)
    assert done.result["verdict"] == "out_of_memory", str(done)
    assert "CUDA out of memory" in done.result["oom"]["message"]
    assert done.result["oom"]["stack"][-1]["function"] == "train"


@pytest.mark.cold
@pytest.mark.parametrize("way", DIES)
def test_a_rank_that_fails_is_told_by_its_own_words(product: Product, way: str) -> None:
    done = product.run(RANKS.format(end="raise ValueError('no such width')", start=DIES[way]))
    assert done.result["verdict"] == "failed"
    assert (done.result["error"]["type"], done.result["error"]["message"]) == ("ValueError", "no such width")
