"""vramfit sweep with real jobs: a matrix, a search, a hung trial, an interrupt; and what the history keeps of it."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from product import VRAMFIT, Product, wait_for

TRAINS = """
    import sys, torch
    batch = int(sys.argv[sys.argv.index("--batch-size") + 1])
    width = int(sys.argv[sys.argv.index("--width") + 1]) if "--width" in sys.argv else 256
    if width == 13:
        import time
        time.sleep(600)
    x = torch.zeros(batch, width, 2**20, dtype=torch.uint8, device="cuda")
    print("trained", x.numel())
"""


def sweep_words(product: Product, *options: str) -> list[str]:
    script = product.script(TRAINS)
    report = str(product.folder / "sweep.json")
    words = ["sweep", "--gpu", "rtx3060", "--json", report, *options, "--", sys.executable, str(script)]
    return [*words, "--batch-size", "1"]


def result_of(product: Product) -> dict:
    return json.loads((product.folder / "sweep.json").read_text())


@pytest.mark.warm
def test_a_matrix_runs_every_combination_and_maps_the_border(product: Product) -> None:
    options = ("--vary", "batch=2,40", "--vary", "--width=256,512")
    done = product.call(*sweep_words(product, *options), timeout=300)
    assert done.exit_code == 0, str(done)
    verdicts = {tuple(trial["values"].values()): trial["verdict"] for trial in result_of(product)["trials"]}
    assert verdicts == {
        ("2", "256"): "fits",
        ("2", "512"): "fits",
        ("40", "256"): "fits",
        ("40", "512"): "out_of_memory",
    }
    assert "3 of 4 trials fit" in done.stdout and "OOM" in done.stdout
    logs = product.folder / "vramfit-sweep" / "trials"
    assert f"trained {2 * 256 * 2**20}" in (logs / "0.log").read_text()

    # The same command again takes everything from the folder.
    again = product.call(*sweep_words(product, *options), timeout=60)
    assert again.stdout.count("before)") == 4, str(again)

    listed = json.loads(product.call("runs", "--json", "-").stdout)["runs"]
    assert [run["verb"] for run in listed] == ["sweep", "sweep"]
    trials = json.loads(product.call("runs", "--of", str(listed[-1]["number"]), "--json", "-").stdout)["runs"]
    assert sorted(run["verdict"] for run in trials) == ["fits", "fits", "fits", "out_of_memory"]
    assert all(run["devices"][0]["total_bytes"] > 2**33 for run in trials)


@pytest.mark.warm
def test_a_search_names_the_largest_and_its_neighbour(product: Product) -> None:
    done = product.call(*sweep_words(product, "--find-max", "batch=1..64", "--vary", "--width=1024"), timeout=300)
    assert done.exit_code == 0, str(done)
    (largest,) = result_of(product)["largest"]
    assert largest["too_large"] == largest["fits"] + 1
    tried = {int(trial["values"]["batch"]): trial["verdict"] for trial in result_of(product)["trials"]}
    assert tried[largest["fits"]] == "fits" and tried[largest["too_large"]] == "out_of_memory"
    assert largest["fits"] == 11  # of 1 GiB each, on 12 GiB with a context


def test_a_hung_trial_is_ended_and_the_others_are_not_held_up(product: Product) -> None:
    options = ("--vary", "--width=256,13", "--timeout", "45", "-j", "2")
    done = product.call(*sweep_words(product, *options), timeout=240)
    verdicts = {trial["values"]["--width"]: trial["verdict"] for trial in result_of(product)["trials"]}
    assert verdicts == {"256": "fits", "13": "timed_out"}, str(done)


def test_an_interrupted_sweep_is_gone_on_with(product: Product) -> None:
    words = sweep_words(product, "--vary", "--width=256,13", "-j", "1")
    process = subprocess.Popen(
        [str(VRAMFIT), *words], cwd=product.folder, env=product.environment(), stdout=subprocess.PIPE, text=True
    )
    first = process.stdout.readline()
    assert "--width=256: fits" in first
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 130, rest
    assert "interrupted" in rest
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(product.folder) in read(path)]
    assert not left
    assert (product.folder / "vramfit-sweep" / "trials" / "0.json").exists()
    states = {trial["values"]["--width"]: trial["state"] for trial in result_of(product)["trials"]}
    assert states == {"256": "done", "13": "waiting"}


def read(path: Path) -> str:
    try:
        return path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def test_what_cannot_be_varied_is_refused_with_what_can(product: Product) -> None:
    done = product.call(*sweep_words(product, "--vary", "nonsense=1,2"))
    assert done.exit_code == 2
    assert "nonsense" in done.stderr and "amp" in done.stderr
    assert not (product.folder / "vramfit-sweep").exists(), "a refused start leaves nothing behind"


LOADS = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    loader = DataLoader(TensorDataset(torch.zeros(64, 2**20)), batch_size=2)
    model = torch.nn.Linear(2**20, 1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (rows,) in loader:
        model(rows.cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""
TAKES_A_BATCH = """
    import argparse, torch
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=1)
    x = torch.zeros(parser.parse_args().batch_size, 2**28, dtype=torch.uint8, device="cuda")
"""


@pytest.mark.warm
@pytest.mark.parametrize("source", [LOADS, TAKES_A_BATCH])
def test_the_batch_is_varied_where_the_command_does_not_say_it(product: Product, source: str) -> None:
    script = product.script(source)
    report = str(product.folder / "sweep.json")
    words = ("sweep", "--gpu", "rtx3060", "--json", report, "--vary", "batch=4,32", "--", sys.executable, str(script))
    done = product.call(*words, timeout=300)
    assert done.exit_code == 0, str(done)
    few, many = (
        json.loads((product.folder / "vramfit-sweep" / "trials" / f"{trial}.json").read_text()) for trial in (0, 1)
    )
    assert few["verdict"] == many["verdict"] == "fits", (few, many)
    peaks = [trial["devices"][0]["peak_device_bytes"] for trial in (few, many)]
    assert peaks[1] - peaks[0] >= 100 << 20, peaks


@pytest.mark.warm
def test_runs_are_noted_shown_compared_and_exported(product: Product) -> None:
    script = product.script("import torch\nx = torch.zeros(2**28, device='cuda')\n")
    first = product.call("run", "--gpu", "rtx3060", "--", sys.executable, str(script))
    script.write_text("import torch\nx = torch.zeros(2**29, device='cuda')\n")
    second = product.call("run", "--gpu", "rtx3060", "--", sys.executable, str(script))
    assert "run 1: torch" in first.stderr and "run 2: torch" in second.stderr, str(second)
    compared = product.call("compare", "1", "2").stdout
    assert "script" in compared and "+1024 MiB" in compared, compared
    assert "command" not in compared
    assert product.call("runs", "1", "--note", "before", "--tag", "paper").exit_code == 0
    assert "before" in product.call("show", "1").stdout
    exported = product.folder / "runs.json"
    assert product.call("runs", "--export", str(exported)).exit_code == 0
    elsewhere = product.call("runs", "--import", str(exported), VRAMFIT_STORE=str(product.folder / "other.db"))
    assert "2 runs taken" in elsewhere.stdout, str(elsewhere)
    shown = product.call("show", "1", "--json", "-", VRAMFIT_STORE=str(product.folder / "other.db"))
    (run,) = json.loads(shown.stdout)["runs"]
    assert run["tags"] == ["paper"] and json.loads(run["result"])["verdict"] == "fits"
    assert product.call("show", "99").exit_code == 2


@pytest.mark.warm
def test_a_run_tells_the_whole_card_up_to_its_peak(product: Product) -> None:
    done = product.run("import torch\nx = torch.zeros(2**28, device='cuda')\ndel x\ntorch.cuda.empty_cache()\n")
    assert done.exit_code == 0, done
    (card,) = done.result["devices"]
    rows = list(csv.DictReader(io.StringIO(product.call("export", "1", "--to", "csv", "-o", "-").stdout)))
    known = [int(row["device_bytes"]) for row in rows if row["device_bytes"]]
    assert max(known) == card["peak_device_bytes"]
    assert min(known) < card["peak_device_bytes"], "it was given back"
    assert max(int(row["reserved_bytes"]) for row in rows) == card["peak_reserved_bytes"]
    assert all(int(row["device_bytes"]) >= int(row["reserved_bytes"]) for row in rows if row["device_bytes"])
    events = json.loads(product.call("export", "1", "--to", "perfetto", "-o", "-").stdout)["traceEvents"]
    assert {event["name"] for event in events if event["ph"] == "C"} == {"allocated", "reserved", "device"}
    assert product.call("export", "1", "-o", "run.svg").exit_code == 0
    assert "everything on the card" in (product.folder / "run.svg").read_text()


@pytest.mark.warm
def test_a_diagnosis_is_noted_with_its_findings(product: Product) -> None:
    log = product.folder / "train.log"
    log.write_text(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 600.00 GiB. GPU 0 has a total capacity of "
        "11.76 GiB of which 11.00 GiB is free. Of the allocated memory 100.00 MiB is allocated by PyTorch, and "
        "10.00 MiB is reserved by PyTorch but unallocated.\n"
    )
    assert product.call("doctor", str(log)).exit_code == 1
    (run,) = json.loads(product.call("runs", "--json", "-").stdout)["runs"]
    assert run["verb"] == "doctor" and run["verdict"] == "findings"
    assert run["findings"][0]["code"].startswith("VF")
    assert run["findings"][0]["code"] in product.call("show", "1").stdout


def test_a_history_that_cannot_be_written_does_not_stop_a_run(product: Product) -> None:
    script = product.script("import torch\nx = torch.zeros(1, device='cuda')\nprint('ran')\n")
    broken = product.folder / "broken.db"
    broken.write_bytes(b"z" * 4096)
    done = product.call("run", "--gpu", "rtx3060", "--", sys.executable, str(script), VRAMFIT_STORE=str(broken))
    assert done.exit_code == 0 and done.stdout == "ran\n"
    assert "not in the history" in done.stderr, done.stderr
    assert broken.read_bytes() == b"z" * 4096


def test_a_killed_run_is_interrupted_in_the_history(product: Product) -> None:
    script = product.script("import time\nprint('up', flush=True)\ntime.sleep(60)\n")
    words = ["run", "--gpu", "rtx3060", "--", sys.executable, str(script)]
    process = subprocess.Popen(
        [str(VRAMFIT), *words], cwd=product.folder, env=product.environment(), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "up\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (run,) = json.loads(product.call("runs", "--json", "-").stdout)["runs"]
    assert run["state"] == "interrupted"


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("", "is empty"),
        ('{"gpus": ["t4"], "opti', "cut off after 22 bytes"),
        ("gpus: [t4]\n", "no JSON at byte 1"),
        ('{"gpus": ["t4"], "options": []}', "lacks `command`, `variables`, `goal`, `timeout_seconds`"),
        ('{"method": "bayes", "metric": {"name": "loss"}, "parameters": {}}', "another program"),
        ('["t4"]', "another program"),
        ('{"schema": 1, "verb": "sweep", "trials": []}', "the result of a sweep"),
        (
            '{"gpus": "t4", "options": [], "command": [], "variables": [], "goal": null, "timeout_seconds": 1}',
            "another kind",
        ),
    ],
)
def test_a_folder_with_another_file_says_so_and_what_to_do(product: Product, content: str, word: str) -> None:
    folder = product.folder / "sweep"
    folder.mkdir()
    (folder / "sweep.json").write_text(content)
    done = product.call("sweep", "--gpu", "t4", "--vary", "--size=1,2", "--out", str(folder), "--", "true")
    assert done.exit_code == 2, done
    assert word in done.stderr and str(folder / "sweep.json") in done.stderr.replace("\n", "").replace("  ", ""), done
    assert "--out" in done.stderr and "exception" not in done.stderr
    assert (folder / "sweep.json").read_text() == content


def test_a_folder_of_other_files_is_left_alone(product: Product) -> None:
    other = product.folder / "mine"
    other.mkdir()
    (other / "thesis.txt").touch()
    done = product.call(*sweep_words(product, "--vary", "--width=256", "--out", str(other)))
    assert done.exit_code == 2 and "not empty, and no sweep's" in done.stderr, str(done)
    assert [path.name for path in other.iterdir()] == ["thesis.txt"]


def test_a_mistyped_card_is_refused_before_the_first_trial(product: Product) -> None:
    for options in (("--vary", "gpu=t4,40900"), ("--gpu", "40900", "--vary", "--width=256")):
        done = product.call(*sweep_words(product, *options))
        assert done.exit_code == 2 and "rtx4090" in done.stderr, str(done)
        assert not (product.folder / "vramfit-sweep").exists()


def test_an_interrupted_sweep_is_interrupted_in_the_history(product: Product) -> None:
    words = sweep_words(product, "--vary", "--width=13,14", "-j", "1")
    process = subprocess.Popen([str(VRAMFIT), *words], cwd=product.folder, env=product.environment())
    wait_for(lambda: (product.folder / "vramfit-sweep" / "trials" / "0.log").exists(), 60)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    listed = json.loads(product.call("runs", "--json", "-").stdout)["runs"]
    assert [run["verdict"] for run in listed] == ["interrupted"]
