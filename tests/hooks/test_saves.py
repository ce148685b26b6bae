"""Checkpoints of a virtual run: the script finds them where it left them, the user's own stay as they were."""

from __future__ import annotations

from hooked_job import Job

SCRIPT = """
    import json, os, shutil, torch
    from pathlib import Path
    torch.save({"epoch": 1}, "last.pth")
    shutil.copyfile("last.pth", "best.pth")
    shutil.copy("last.pth", "copy.pth")
    torch.save({"epoch": 2}, "tmp.pth")
    os.replace("tmp.pth", "last.pth")
    found = [torch.load(name)["epoch"] for name in ("last.pth", "best.pth", "copy.pth")]
    with open("best.pth", "rb") as file: found.append(torch.load(file)["epoch"])
    found += [Path("best.pth").exists(), os.path.getsize("last.pth") > 0, os.path.exists("tmp.pth")]
    os.remove("copy.pth")
    found.append(os.path.exists("copy.pth"))
    with open("log.txt", "w") as file: file.write("kept")
    print(json.dumps(found))
"""


def test_a_virtual_run_never_touches_the_users_checkpoints(job: Job) -> None:
    (job.folder / "best.pth").write_text("trained for a week")
    finished = job.run(SCRIPT, VRAMFIT_LEDGER="/dev/shm/vramfit-test-none")
    assert finished.output() == [2, 1, 1, 1, True, True, False, False]
    assert (job.folder / "best.pth").read_text() == "trained for a week"
    assert (job.folder / "log.txt").read_text() == "kept"
    assert not (job.folder / "last.pth").exists()
    assert "overwritten" in finished.only("cut")["text"]


def test_on_a_real_card_they_are_written(job: Job) -> None:
    assert job.run(SCRIPT, VRAMFIT_REAL="1").output()[:3] == [2, 1, 1]
    assert (job.folder / "last.pth").stat().st_size > 0
