"""VRAMFIT_ON_OOM: a report of an unmodified script's error, with nothing else of it changed."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from bare_job import HOOK, BareJob, torch_folder
from product import STAGE

sys.path.insert(0, str(STAGE / "python"))

# The pause lets autograd's thread end before Python does: PyTorch may abort there on a card that computes in no time.
JOB = """
import atexit, time, torch
from torch import nn
atexit.register(time.sleep, 0.5)
model = nn.Sequential(*[nn.Linear(4096, 4096) for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
features = []
def train():
    for step in range(1000):
        out = model(torch.randn(4096, 4096, device="cuda"))
        features.append(out.detach())
        out.sum().backward()
        optimizer.step(); optimizer.zero_grad()
print("begins", flush=True)
train()
"""


@pytest.fixture
def bare(tmp_path: Path) -> BareJob:
    return BareJob(tmp_path)


def report_in(folder: Path) -> dict[str, Any]:
    (place,) = (folder / "vramfit-oom").iterdir()
    return {"folder": place, **json.loads((place / "report.json").read_text())}


def test_the_jobs_own_error_stays_as_it_is_and_the_report_names_who_held_what(bare: BareJob) -> None:
    plain = bare.run(JOB)
    assert not (bare.folder / "vramfit-oom").exists()
    hooked = bare.run(JOB, PYTHONPATH=HOOK, VRAMFIT_ON_OOM="report")
    assert (hooked.exit_code, hooked.stdout) == (plain.exit_code, plain.stdout) == (1, "begins\n")
    *own, ours = hooked.stderr.splitlines()
    sizes = re.compile(r"\d+\.\d+ [KMG]iB")  # 4 KiB of the card are the report's own
    assert [sizes.sub("", line) for line in own] == [sizes.sub("", line) for line in plain.stderr.splitlines()]
    assert ours.startswith("vramfit: the report is in vramfit-oom/")

    report = report_in(bare.folder)
    weights = 4 * (4096 * 4096 + 4096) * 4
    assert (report["owned"]["weights"], report["owned"]["optimizer"]) == (weights, 2 * weights)
    held = report["held"][0]
    assert held["holder"]["name"].startswith("features[")
    assert held["bytes"] == held["tensors"] * 4096 * 4096 * 4
    assert sum(report["owned"].values()) >= report["allocated"] * 0.99
    assert report["stack"][-1]["file"].endswith(".py")
    assert any(frame["function"] == "train" for frame in report["stack"])
    assert report["message"].startswith("CUDA out of memory")
    traceback = (report["folder"] / "traceback.txt").read_text()
    assert traceback.rstrip().splitlines()[-1].startswith("torch.OutOfMemoryError: CUDA out of memory")

    with open(report["folder"] / "snapshot.pickle", "rb") as file:
        snapshot = pickle.load(file)
    blocks = [block for segment in snapshot["segments"] for block in segment["blocks"]]
    live = [block for block in blocks if block["state"] == "active_allocated"]
    files = {frame["filename"] for block in live for frame in block.get("frames", ())}
    assert any(file.endswith("train.py") for file in files), "live blocks have their stacks"
    assert sum(block["size"] for block in live) == report["allocated"]


def test_the_doctor_names_the_list_that_grew(bare: BareJob) -> None:
    finished = bare.run(JOB, PYTHONPATH=HOOK, VRAMFIT_ON_OOM="doctor")
    assert finished.exit_code == 1
    ours = finished.stderr.splitlines()[-2:]
    assert re.search(r"Memory grows from step to step, by about \d+ MiB a step: made at train\.py:10$", ours[0])
    assert ours[1].lstrip().startswith("the report is in vramfit-oom/")
    diagnosis = (report_in(bare.folder)["folder"] / "diagnosis.txt").read_text()
    assert "features[0]" in diagnosis
    place = report_in(bare.folder)["folder"]
    files = sorted(place.iterdir())
    assert len(files) == 6
    for given in [[file] for file in files] + [files]:
        words = [str(STAGE / "bin" / "vramfit"), "doctor", *(file.name for file in given)]
        alone = subprocess.run(words, capture_output=True, text=True, check=False, cwd=place)
        assert alone.stdout == diagnosis, given
    first, *_ = re.findall(r"^\[.\] (VF\d+)", diagnosis, re.MULTILINE)
    assert first == "VF201", diagnosis
    assert "features[0]" in diagnosis.split("VF101")[0], diagnosis


@pytest.mark.parametrize("width", ["1024", "1024 + step"])
def test_every_tensor_of_a_container_is_counted_as_its_own(bare: BareJob, width: str) -> None:
    job = """
        import torch
        kept, cache = [], {}
        for step in range(120):
            kept.append(torch.ones(256, WIDTH, device="cuda"))
            cache[step] = torch.ones(256, WIDTH, device="cuda")
        small = [torch.ones(8, device="cuda") for _ in range(7)]
        torch.zeros(1 << 40, device="cuda")
    """
    bare.run(job.replace("WIDTH", width), PYTHONPATH=HOOK, VRAMFIT_ON_OOM="report")
    report = report_in(bare.folder)
    held = {re.sub(r"\d+", "0", each["holder"]["name"]): each["tensors"] for each in report["held"]}
    assert held == {"kept[0]": 120, "cache[0]": 120}
    rest = report["owned"]["tensors"] - sum(each["bytes"] for each in report["held"])
    assert f"{rest} B  and 7 more" in (report["folder"] / "owners.txt").read_text()


CONTAINERS_WITHIN_CONTAINERS = {
    "a_dict_of_lists": (
        """
        cache = {"a": [], "b": [], "c": []}
        for step in range(40):
            for number, key in enumerate(cache):
                cache[key].append(torch.ones(256, 1024 + WIDER, device="cuda"))
        """,
        {"cache['a'][0]": 40, "cache['b'][0]": 40, "cache['c'][0]": 40},
    ),
    "lists_of_an_attributes_attribute": (
        """
        class Log:
            def __init__(self):
                self.outputs, self.by_name = [], {"x": [], "y": []}
        class Trainer:
            def __init__(self):
                self.log = Log()
        trainer = Trainer()
        for step in range(40):
            number = 1
            trainer.log.outputs.append(torch.ones(256, 1024 + WIDER, device="cuda"))
            trainer.log.by_name["x"].append(torch.ones(256, 1024 + WIDER, device="cuda"))
            trainer.log.by_name["y"].append(torch.ones(256, 1024 + WIDER, device="cuda"))
        """,
        {"trainer.log.outputs[0]": 40, "trainer.log.by_name['x'][0]": 40, "trainer.log.by_name['y'][0]": 40},
    ),
    "a_list_of_dicts": (
        """
        kept = []
        for step in range(40):
            number = 1
            logits, labels = torch.ones(256, 1024 + WIDER, device="cuda"), torch.ones(256, 64, device="cuda")
            kept.append({"logits": logits, "labels": labels})
            del logits, labels
        """,
        {"kept[0]['logits']": 40, "kept[0]['labels']": 40},
    ),
    "lists_by_number": (
        """
        from collections import defaultdict
        epochs = defaultdict(list)
        for step in range(120):
            number = 1
            epochs[step // 40].append((torch.ones(256, 1024 + WIDER, device="cuda"), step))
        """,
        {"epochs[0][0][0]": 120},
    ),
}


@pytest.mark.parametrize("wider", ["0", "step * 8 + number"], ids=["one_size", "many_sizes"])
@pytest.mark.parametrize("name", CONTAINERS_WITHIN_CONTAINERS)
def test_containers_within_containers_are_counted_whole(bare: BareJob, name: str, wider: str) -> None:
    text, counted = CONTAINERS_WITHIN_CONTAINERS[name]
    lines = ["import torch", *textwrap.dedent(text).replace("WIDER", wider).splitlines()]
    bare.run("\n".join([*lines, 'torch.zeros(1 << 40, device="cuda")']), PYTHONPATH=HOOK, VRAMFIT_ON_OOM="report")
    report = report_in(bare.folder)
    held = {re.sub(r"\d+", "0", each["holder"]["name"]): each["tensors"] for each in report["held"]}
    assert held == counted, (report["folder"] / "owners.txt").read_text()


def test_an_error_that_the_script_catches_is_reported_and_the_script_goes_on(bare: BareJob) -> None:
    finished = bare.run(
        """
        import torch
        kept = torch.zeros(1 << 28, device="cuda")
        for size in (1 << 33, 1 << 20):
            try:
                torch.zeros(size, device="cuda")
                print("fitted", size)
            except torch.OutOfMemoryError:
                print("caught", size)
        raise SystemExit(7)
        """,
        PYTHONPATH=HOOK,
        VRAMFIT_ON_OOM="report",
    )
    assert (finished.exit_code, finished.stdout) == (7, "caught 8589934592\nfitted 1048576\n")
    assert "ran out of memory once and caught it" in finished.stderr
    report = report_in(bare.folder)
    assert report["tried"] >= 1 << 35
    assert report["held"][0]["holder"]["name"] == "kept"
    assert not report["uncaught"]


def test_without_an_error_there_is_no_report_and_no_word(bare: BareJob) -> None:
    text = """
        import time
        import torch
        model = torch.nn.Linear(64, 64).cuda()
        model(torch.ones(8, 64, device="cuda")).sum().backward()
        time.sleep(1)  # PyTorch's thread still lets go of the graph: an interpreter that ends aborts it
        print("done")
    """
    finished = bare.run(text, PYTHONPATH=HOOK, VRAMFIT_ON_OOM="doctor")
    assert (finished.exit_code, finished.stdout, finished.stderr) == (0, "done\n", "")
    assert not (bare.folder / "vramfit-oom").exists()


def test_the_import_hook_serves_an_environment_that_knows_nothing_of_vramfit(bare: BareJob) -> None:
    environment = bare.folder / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    bare.python = str(environment / "bin" / "python")
    packages = subprocess.run(
        [bare.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True
    ).stdout.strip()
    Path(packages, "torch_of_the_tests.pth").write_text(str(torch_folder().parent) + "\n")
    hook = ["-c", f"import sys; sys.path.append({str(STAGE / 'python')!r}); from vramfit.on_oom import hook; "]
    installed = subprocess.run(
        [bare.python, hook[0], hook[1] + "hook.main(['install'])"], capture_output=True, text=True
    )
    assert Path(installed.stdout.strip()).read_text().startswith("import os, sys; os.environ.get('VRAMFIT_ON_OOM')")

    text = "import torch; torch.zeros(1 << 40, device='cuda')"
    finished = bare.run(text)
    assert (finished.exit_code, (bare.folder / "vramfit-oom").exists()) == (1, False)
    finished = bare.run(text, VRAMFIT_ON_OOM="report", VRAMFIT_ON_OOM_DIR=str(bare.folder / "reports"))
    assert finished.exit_code == 1
    assert len(list((bare.folder / "reports").iterdir())) == 1
    subprocess.run([bare.python, hook[0], hook[1] + "hook.main(['remove'])"], check=True, capture_output=True)
    assert not Path(installed.stdout.strip()).exists()


def test_a_late_error_is_placed_between_two_modules(bare: BareJob) -> None:
    """No stand-in fails late: the number that the card sends back is stopped instead, as a dead card would stop it."""
    finished = bare.run(
        """
        import time, torch
        from torch import nn
        class Encoder(nn.Linear): pass
        class Decoder(nn.Linear): pass
        class Head(nn.Linear): pass
        parts = [Encoder(8, 8).cuda(), Decoder(8, 8).cuda(), Head(8, 8).cuda()]
        x = torch.ones(8, 8, device="cuda")
        for part in parts:
            x = part(x)
            time.sleep(0.01)
        torch.cuda.synchronize()
        from vramfit.on_oom import progress_marks
        progress_marks._state.devices[0].arrived[0] = 0  # past the first mark, not come to the second
        raise RuntimeError("CUDA error: an illegal memory access was encountered")
        """,
        PYTHONPATH=HOOK,
        VRAMFIT_ON_OOM="report",
    )
    assert finished.exit_code == 1
    said = [line for line in finished.stderr.splitlines() if line.startswith("vramfit:")]
    assert len(said) == 1
    assert re.search(r"cuda:0 was launched between Encoder \(.*train.py:10 .*\) and Decoder \(.*train.py:10 ", said[0])


def test_loaders_workers_live_beside_the_marks(bare: BareJob) -> None:
    """A forked child can't free the pinned memory in which marks arrive."""
    finished = bare.run(
        """
        import torch
        part = torch.nn.Linear(8, 8).cuda()
        for _ in range(2):
            for x in torch.utils.data.DataLoader(torch.ones(8, 8), batch_size=4, num_workers=1):
                part(x.cuda())
        print("ended")
        """,
        PYTHONPATH=HOOK,
        VRAMFIT_ON_OOM="report",
    )
    assert finished.exit_code == 0 and "ended" in finished.stdout, finished


def test_marks_arrive_through_the_cards_own_queue(bare: BareJob) -> None:
    finished = bare.run(
        """
        import time, torch
        part = torch.nn.Linear(8, 8).cuda()
        for _ in range(5):
            part(torch.ones(8, 8, device="cuda"))
            time.sleep(0.01)
        torch.cuda.synchronize()
        from vramfit.on_oom import progress_marks
        state = progress_marks._state.devices[0]
        print(state.count, int(state.arrived[0]))
        """,
        PYTHONPATH=HOOK,
        VRAMFIT_ON_OOM="report",
    )
    assert finished.stdout == "5 4\n", finished


def test_stacks_are_taken_for_as_much_of_the_time_as_the_budget_allows() -> None:
    from vramfit.on_oom import history

    assert history.share_of_time(1000, 0.5) == 1.0
    busy = 20_000  # allocations in half a second: their stacks would take 12 % of it
    share = history.share_of_time(busy, 0.5)
    assert share * busy * history.STACK_SECONDS == pytest.approx(history.MOST_SHARE * 0.5)


def test_the_ring_of_stacks_is_bounded(bare: BareJob) -> None:
    finished = bare.run(
        """
        import torch
        for _ in range(30_000): torch.empty(1, device="cuda")
        print(sum(len(trace) for trace in torch.cuda.memory._snapshot()["device_traces"]))
        """,
        PYTHONPATH=HOOK,
        VRAMFIT_ON_OOM="report",
    )
    assert 0 < int(finished.stdout) <= 10_000
