"""Jobs on a virtual card: nothing of the user's is touched, and the result says what would have been.

Each test runs under every way of keeping files private that this machine gives.
"""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from place import Place, state_of
from product import wait_for

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
            def __getitem__(self, i):
                words = torch.zeros(8, dtype=torch.long)
                return {"input_ids": words, "labels": words}

        model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=32, n_head=2, vocab_size=64, n_positions=16))
        arguments = TrainingArguments("out", max_steps=4, save_steps=2, save_total_limit=1, report_to=[])
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
def test_trials_start_from_the_same_files(any_place: Place) -> None:
    place = any_place
    (place.work / "count").write_text("0")
    text = """
        import os, sys, torch
        # A second run over the same files would go on from what the first one left.
        count = int(open("count").read())
        if count or os.path.exists("last.pt"): sys.exit("from an earlier trial: " + "resumed"[::-1])
        open("count", "w").write(str(count + 1))
        # Much memory and little to compute: the comparisons compute values.
        model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), *[torch.nn.Tanh() for _ in range(8)]).cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        data = torch.utils.data.DataLoader(torch.zeros(128, 1024), batch_size=64)
        for epoch in range(2):
            for x in data:
                optimizer.zero_grad()
                model[1:](model[0](x.cuda()).repeat(1, 256)).square().mean().backward()
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
    words[words.index("rtx3060")] = "rtx3060:850MiB"
    done = place.call(words)
    assert state_of(place.work) == before
    tried = done.result["fit"]["plans"] + done.result["fit"]["lost"]
    assert len(tried) > 0, str(done)
    assert done.result["fit"]["plans"], str(done)
    said = "resumed"[::-1]  # what the script prints, which the lines of its source that the answer shows don't hold
    assert said not in json.dumps(done.result)
    assert said not in done.stderr + done.stdout


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
        for i in range(32):
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
        import os, torch, torch.distributed as dist
        dist.init_process_group("gloo")
        x = torch.ones(1)
        dist.all_reduce(x)
        torch.zeros(8, device=f"cuda:{dist.get_rank()}")
        open(f"rank{dist.get_rank()}", "w").write("x")
        os.write(1, b"%d\\n" % int(x))  # at once: the ranks share the pipe
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
    process.communicate(timeout=60)  # it ends with the last who can print: the job
    wait_for(lambda: not Path(f"/proc/{job}").exists() or "\nState:\tZ" in Path(f"/proc/{job}/status").read_text())
    assert list(place.work.iterdir()) == []
    # What it had of its own goes with the next run, as ever.
    assert place.run("pass").exit_code == 0


@pytest.mark.parametrize("where", ["read-only", "home unset", "below the temporary folder"])
def test_odd_places_are_no_obstacle(place: Place, where: str) -> None:
    variables = {}
    odd = Path(tempfile.gettempdir(), "vramfit-odd-place")
    words = place.words(f"open({str(odd)!r}, 'w').write('x')\nprint('ran')\n")
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
    assert not odd.exists()
    assert {path.name for path in place.product.temporary.iterdir()} <= {"deep"}
