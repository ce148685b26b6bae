"""Jobs on a virtual card: nothing of the user's is touched, nothing is sent, and the result says what would have been.

Each test runs under every way of keeping files private that this machine gives.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from product import ROOT, VRAMFIT, Finished, Product, wait_for

KINDS = ("overlay", "user_namespace", "supervisor")
OFFERED: dict[str, bool] = {}


def is_offered(kind: str) -> bool:
    """By this machine to this user, as the program itself finds out: for a script that needs no torch."""
    if kind not in OFFERED:
        words = [str(VRAMFIT), "run", "--gpu", "t4", "--", sys.executable, "-c", "pass"]
        environment = {**os.environ, "VRAMFIT_LAYER_KIND": kind, "VRAMFIT_STORE": "none"}
        done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
        OFFERED[kind] = done.returncode == 0
    return OFFERED[kind]


def state_of(folder: Path) -> dict[str, Any]:
    """Every entry with its kind, rights, time and content."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            content = ""
        found[str(path.relative_to(folder))] = (oct(status.st_mode), status.st_mtime_ns, content)
    return found


@dataclass
class Place:
    """A user's folder, with a script beside it, so that nothing in it is ours."""

    product: Product
    kind: str

    @property
    def work(self) -> Path:
        path = self.product.folder / "work"
        path.mkdir(exist_ok=True)
        return path

    def words(self, text: str, *arguments: str, options: tuple[str, ...] = (), verb: str = "run") -> list[str]:
        script = self.product.script(text)
        report = self.product.folder / "result.json"
        report.unlink(missing_ok=True)
        own = [verb, "--gpu", "rtx3060", "--json", str(report), *options]
        return [str(VRAMFIT), *own, "--", sys.executable, str(script), *arguments]

    def environment(self, **variables: str) -> dict[str, str]:
        return self.product.environment(VRAMFIT_LAYER_KIND=self.kind, **variables)

    def run(self, text: str, *arguments: str, options: tuple[str, ...] = (), **variables: str) -> Finished:
        return self.call(self.words(text, *arguments, options=options), **variables)

    def call(self, words: list[str], **variables: str) -> Finished:
        done = subprocess.run(
            words,
            cwd=self.work,
            env=self.environment(**variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        finished = self.product.read(
            Finished(done.returncode, done.stdout, done.stderr), self.product.folder / "result.json"
        )
        if finished.result:
            jsonschema.validate(finished.result, json.loads((ROOT / "docs" / "run.schema.json").read_text()))
        assert list(self.product.temporary.iterdir()) == [], "something of ours is left"
        return finished

    def untouched(self, text: str, *arguments: str, **more: Any) -> Finished:
        """Runs it, and holds the folder to what it was."""
        before = state_of(self.work)
        finished = self.run(text, *arguments, **more)
        assert state_of(self.work) == before, str(finished)
        return finished


@pytest.fixture(params=KINDS)
def place(product: Product, request: pytest.FixtureRequest) -> Place:
    if not is_offered(request.param):
        pytest.skip("this machine gives no such layer")
    return Place(product, request.param)


@pytest.fixture
def any_place(product: Product) -> Place:
    for kind in KINDS:
        if is_offered(kind):
            return Place(product, kind)
    pytest.skip("this machine gives no layer")


# --- what a job does to files


def test_a_trainer_that_keeps_few_checkpoints_deletes_none_of_the_users(place: Place) -> None:
    kept = place.work / "out" / "checkpoint-500"
    kept.mkdir(parents=True)
    (kept / "model.safetensors").write_text("trained for a week")
    done = place.untouched(
        """
        import torch
        from torch.utils.data import Dataset
        from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

        class Texts(Dataset):
            def __len__(self): return 16
            def __getitem__(self, i): return {"input_ids": torch.zeros(8, dtype=torch.long), "labels": torch.zeros(8, dtype=torch.long)}

        model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=32, n_head=2, vocab_size=64, n_positions=16))
        arguments = TrainingArguments("out", max_steps=4, save_steps=2, save_total_limit=1, report_to=[], logging_steps=1)
        Trainer(model, arguments, train_dataset=Texts()).train()
        import os
        print(sorted(os.listdir("out")))
        """,
        options=("--steps", "all"),
    )
    assert done.exit_code == 0, str(done)
    assert done.stdout.splitlines()[-1] == "['checkpoint-4']", "inside, the trainer had its way"
    files = done.result["files"]
    assert (files["mode"], files["mechanism"], files["full"]) == ("private", place.kind, False)
    removed = [entry["path"] for entry in files["entries"] if entry["change"] == "removed"]
    assert removed == [str(kept)]
    assert files["removed"] == 1 and files["created"] > 3
    assert "1 removed: in a private layer, gone now" in " ".join(done.stderr.split())


FILES = """
    import mmap, os, shutil, sqlite3, subprocess
    os.makedirs("save.tmp/inner")
    for name in ("a", "inner/b"):
        with open("save.tmp/" + name, "w") as file: file.write(name)
    os.rename("save.tmp", "saved")
    print(open("saved/a").read(), open("saved/inner/b").read(), os.path.exists("save.tmp"))
    os.replace("old-folder", "moved")
    print(open("moved/deep/mine").read(), os.path.exists("old-folder"))
    os.remove("link"); os.symlink("moved", "link")
    print(open("link/deep/mine").read())
    subprocess.run(["sh", "-c", "rm gone.txt; echo more >> kept.txt; mkdir by-shell; chmod 600 kept.txt"], check=True)
    print(open("kept.txt").read().split(), os.path.exists("gone.txt"), os.path.isdir("by-shell"))
    with open("mapped", "r+b") as file, mmap.mmap(file.fileno(), 0) as view: view[:4] = b"MINE"
    print(open("mapped", "rb").read(8))
    base = sqlite3.connect("runs.sqlite")
    base.execute("pragma journal_mode=wal"); base.execute("update runs set loss = 0"); base.commit()
    print(base.execute("select * from runs").fetchall(), base.execute("pragma integrity_check").fetchone())
    base.close()
    shutil.rmtree("tree"); print(sorted(os.listdir()))
"""


def make_files(work: Path) -> None:
    import sqlite3

    for name, text in (("old-folder/deep/mine", "mine"), ("gone.txt", "x"), ("kept.txt", "old\n"), ("tree/a/b", "b")):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    (work / "mapped").write_bytes(b"real" * 2048)
    (work / "link").symlink_to("tree")
    base = sqlite3.connect(work / "runs.sqlite")
    base.execute("create table runs(loss)")
    base.execute("insert into runs values (0.25)")
    base.commit()
    base.close()


def test_whatever_a_job_does_to_files_works_inside_and_changes_none(place: Place) -> None:
    make_files(place.work)
    done = place.untouched(FILES)
    assert done.exit_code == 0, str(done)
    assert done.stdout.splitlines() == [
        "a inner/b False",
        "mine False",
        "mine",
        "['old', 'more'] False True",
        "b'MINEreal'",
        "[(0,)] ('ok',)",
        "['by-shell', 'kept.txt', 'link', 'mapped', 'moved', 'runs.sqlite', 'saved']",
    ]
    changed = {Path(entry["path"]).name for entry in done.result["files"]["entries"] if entry["change"] == "changed"}
    assert changed >= {"kept.txt", "mapped", "runs.sqlite"}


def test_what_was_open_before_the_job_is_real(place: Place) -> None:
    words = place.words("import sys\nprint('to the log')\nprint('aside', file=sys.stderr)\n")
    log = place.work / "log.txt"
    log.write_text("before\n")
    with log.open("a") as file:
        done = subprocess.run(words, cwd=place.work, env=place.environment(), stdout=file, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    assert log.read_text() == "before\nto the log\n"


def test_the_layer_can_be_kept(place: Place) -> None:
    make_files(place.work)
    kept = place.product.folder / "kept"
    before = state_of(place.work)
    done = place.run(FILES, options=("--keep-files", str(kept)))
    assert done.exit_code == 0, str(done)
    assert state_of(place.work) == before
    inside = kept / "files" / place.work.relative_to("/")
    assert (inside / "saved" / "inner" / "b").read_text() == "inner/b"
    assert (inside / "kept.txt").read_text() == "old\nmore\n"
    assert str(place.work / "gone.txt") in (kept / "deleted.txt").read_text().splitlines()
    assert done.result["files"]["kept"] == str(kept)
    again = place.run("print('not run')", options=("--keep-files", str(kept)))
    assert (again.exit_code, again.stdout) == (2, ""), "a folder that holds something is never written to"
    assert "must be new or empty" in again.stderr


@pytest.mark.slow
def test_trials_start_from_the_same_files(place: Place) -> None:
    (place.work / "count").write_text("0")
    text = """
        import os, sys, torch
        # A second run over the same files would go on from what the first one left.
        count = int(open("count").read())
        if count or os.path.exists("last.pt"): sys.exit("resumed from an earlier trial")
        open("count", "w").write(str(count + 1))
        model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(24)]).cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        data = torch.utils.data.DataLoader(torch.zeros(1 << 18, 1024), batch_size=1 << 16)
        for epoch in range(2):
            for x in data:
                optimizer.zero_grad()
                model(x.cuda()).square().mean().backward()
                optimizer.step()
            torch.save(model.state_dict(), "last.pt")
    """
    before = state_of(place.work)
    # Enough for two trials on a busy machine.
    words = place.words(
        text,
        verb="fit",
        options=("--budget", "280", "--only", "autocast,micro_batch", "--plan-out", str(place.product.folder / "plan")),
    )
    words[words.index("rtx3060")] = "rtx3060:5GiB"
    done = place.call(words)
    assert state_of(place.work) == before
    tried = done.result["fit"]["plans"] + done.result["fit"]["lost"]
    assert len(tried) > 0, str(done)
    assert "resumed" not in json.dumps(done.result)
    assert "resumed" not in done.stderr + done.stdout


def test_checkpoints_larger_than_memory_take_no_room_and_read_back(place: Place) -> None:
    text = """
        import os, torch
        model = {f"layer{i}": torch.zeros(1 << 28, device="cuda") for i in range(8)}
        model["known"] = torch.arange(5)
        torch.save(model, "big.pt")
        status = os.stat("big.pt")
        print(status.st_size > 8 << 30, status.st_blocks * 512 < 64 << 20)
        del model
        back = torch.load("big.pt", map_location="cpu", mmap=True)
        print(back["known"].tolist(), back["layer7"].shape[0] == 1 << 28, float(back["layer3"][-1000:].sum()))
    """
    done = place.untouched(text)
    assert done.exit_code == 0, str(done)
    assert done.stdout.splitlines() == ["True True", "[0, 1, 2, 3, 4] True 0.0"]
    files = done.result["files"]
    assert files["written_bytes"] > 8 << 30 > 64 << 20 > files["held_bytes"]


def test_a_full_layer_is_a_full_disk_to_the_job_and_the_result_says_why(place: Place) -> None:
    text = """
        import os
        import torch
        for i in range(8):
            with open(f"part{i}", "wb") as file: file.write(os.urandom(16 << 20))
    """
    done = place.untouched(text, VRAMFIT_LAYER_LIMIT="32MiB")
    assert done.exit_code == 1, str(done)
    assert "No space left on device" in done.result["error"]["message"]
    assert "private layer for its files is full" in done.result["error"]["remedy"]
    assert "VRAMFIT_LAYER_LIMIT" in done.stderr


# --- processes of many kinds


def test_workers_and_shared_memory_work(place: Place) -> None:
    text = """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        if __name__ == "__main__":
            torch.zeros(8, device="cuda")
            data = TensorDataset(torch.arange(64.0).reshape(16, 4))
            total = sum(float(x.sum()) for (x,) in DataLoader(data, batch_size=4, num_workers=2))
            print(total)
    """
    done = place.untouched(text, options=("--steps", "all"))
    assert (done.exit_code, done.stdout) == (0, "2016.0\n"), str(done)


def test_two_ranks_meet_without_a_network(place: Place) -> None:
    words = place.words("""
        import torch, torch.distributed as dist
        dist.init_process_group("gloo")
        x = torch.ones(1)
        dist.all_reduce(x)
        torch.zeros(8, device=f"cuda:{dist.get_rank()}")
        open(f"rank{dist.get_rank()}", "w").write("x")
        print(int(x))
        dist.destroy_process_group()
    """)
    words[words.index("rtx3060")] = "2xrtx3060"
    words[-1:] = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", words[-1]]
    before = state_of(place.work)
    done = place.call(words)
    assert (done.exit_code, done.stdout) == (0, "2\n2\n"), str(done)
    assert state_of(place.work) == before


def test_an_interrupt_leaves_nothing(place: Place) -> None:
    (place.work / "mine").write_text("mine")
    words = place.words("""
        import time
        open("mine", "w").write("lost"); open("new", "w").write("x")
        print("there", flush=True)
        time.sleep(600)
    """)
    mounts = Path("/proc/self/mountinfo").read_text()
    before = state_of(place.work)
    process = subprocess.Popen(
        words, cwd=place.work, env=place.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "there\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert state_of(place.work) == before
    assert Path("/proc/self/mountinfo").read_text() == mounts
    assert list(place.product.temporary.iterdir()) == []


def test_a_killed_vramfit_takes_the_job_with_it_and_no_file_is_touched(place: Place) -> None:
    words = place.words("""
        import os, time
        print(os.getpid(), flush=True)
        while True:
            open("new", "a").write("x"); time.sleep(0.01)
    """)
    process = subprocess.Popen(
        words, cwd=place.work, env=place.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    job = int(process.stdout.readline())
    process.kill()
    process.communicate()
    wait_for(lambda: not Path(f"/proc/{job}").exists() or "\nState:\tZ" in Path(f"/proc/{job}/status").read_text())
    assert list(place.work.iterdir()) == []
    # What it had of its own goes with the next run, as ever.
    assert place.run("pass").exit_code == 0


@pytest.mark.parametrize("where", ["read-only", "home unset", "below the temporary folder"])
def test_odd_places_are_no_obstacle(place: Place, where: str) -> None:
    variables = {}
    words = place.words("open('/tmp/vramfit-odd-place', 'w').write('x')\nprint('ran')\n")
    folder = place.work
    if where == "read-only":
        folder.chmod(0o555)
    elif where == "home unset":
        variables = {"HOME": ""}
    else:
        folder = place.product.temporary / "deep"
        folder.mkdir()
    done = subprocess.run(
        words,
        cwd=folder,
        env=place.environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
    assert not Path("/tmp/vramfit-odd-place").exists()
    assert {path.name for path in place.product.temporary.iterdir()} <= {"deep"}


# --- the network


def test_the_network_is_off_and_that_is_told(place: Place) -> None:
    done = place.untouched("""
        import os, socket
        print(os.environ["WANDB_MODE"], os.environ["HF_HUB_OFFLINE"])
        try: socket.create_connection(("203.0.113.7", 443), timeout=20)
        except OSError as error: print(error.strerror)
    """)
    assert done.exit_code == 0, str(done)
    assert done.stdout.splitlines() == ["offline 1", "Network is unreachable"]
    files = done.result["files"]
    assert (files["network"], files["network_attempts"] >= 1) == (False, True)
    assert "refused (--network opens it)" in " ".join(done.stderr.split())


def test_uploads_to_the_hub_are_left_out_and_said_to_be(any_place: Place) -> None:
    (any_place.work / "model.safetensors").write_text("mine")
    done = any_place.untouched("""
        import huggingface_hub
        from huggingface_hub import HfApi
        print(huggingface_hub.create_repo("me/model", exist_ok=True).repo_id)
        HfApi().upload_folder(repo_id="me/model", folder_path=".")
        HfApi().upload_file(repo_id="me/model", path_or_fileobj="model.safetensors", path_in_repo="x", run_as_future=True).result()
        import torch; torch.zeros(1, device="cuda")
    """)
    assert (done.exit_code, done.stdout) == (0, "me/model\n"), str(done)
    assert any("uploads to the hub" in cut for cut in done.result["cuts"])
    assert done.result["files"]["network_attempts"] == 0


def test_a_job_that_fails_for_want_of_the_network_is_told_the_option(any_place: Place) -> None:
    done = any_place.run("import urllib.request\nurllib.request.urlopen('http://203.0.113.7/', timeout=20)\n")
    assert done.exit_code == 1, str(done)
    assert done.result["error"]["remedy"].startswith("--network")


def test_with_the_option_the_network_is_the_users_own(place: Place) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = place.run(
            f"import os, socket\nsocket.create_connection(('127.0.0.1', {port}))\nprint('WANDB_MODE' in os.environ)\n",
            options=("--network",),
        )
    assert (done.exit_code, done.stdout) == (0, "False\n"), str(done)
    assert done.result["files"]["network"] is True


# --- where there is no layer, and where none is wanted


def test_shared_files_are_the_users_own_and_the_result_says_so(any_place: Place) -> None:
    done = any_place.run("open('made', 'w').write('real')", options=("--files", "shared"))
    assert done.exit_code == 0, str(done)
    assert (any_place.work / "made").read_text() == "real"
    assert done.result["files"]["mode"] == "shared"
    assert "files: shared" in done.stderr


def test_without_any_layer_the_job_does_not_start_and_the_option_is_named(any_place: Place) -> None:
    if os.getuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("no way to give up the right to mount")
    lesser = ["setpriv", "--bounding-set=-sys_admin"] if os.getuid() == 0 else []
    words = [*lesser, *any_place.words("print('ran')")]
    done = any_place.call(words, VRAMFIT_LAYER_KIND="overlay")
    assert (done.exit_code, done.stdout) == (2, ""), str(done)
    assert "--files shared" in done.stderr and "overlay: needs the right to mount" in done.stderr
    assert "Traceback" not in done.stderr


def test_options_that_contradict_each_other_are_refused(any_place: Place) -> None:
    new = str(any_place.product.folder / "new")
    for options in (("--files", "shared", "--keep-files", new), ("--files", "none")):
        done = any_place.run("print('ran')", options=options)
        assert done.exit_code != 0 and done.stdout == "", str(done)
        assert not os.path.exists(new)
