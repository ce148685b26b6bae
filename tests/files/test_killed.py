"""What is left when vramfit itself is killed outright, the next run ends and removes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from place import Place, state_of
from product import wait_for

JOB = """
    import multiprocessing, os, subprocess, sys, time
    from multiprocessing import shared_memory
    mark = sys.argv[1]
    def write(name):
        while True:
            open(name, "a").write("x"); time.sleep(0.01)
    if __name__ == "__main__":
        os.makedirs("a/b"); os.chmod("a/b", 0o555)
        block = shared_memory.SharedMemory("vramfit-test-" + mark, create=True, size=4096)
        worker = multiprocessing.Process(target=write, args=("by-worker",)); worker.start()
        text = "import time\\nwhile True:\\n    open('by-daemon', 'a').write('x'); time.sleep(0.01)"
        shell = f"{sys.executable} -c \\"{text}\\" " + mark + " &"
        subprocess.Popen(["setsid", "sh", "-c", shell], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait()
        while not (os.path.exists("by-worker") and os.path.exists("by-daemon")): time.sleep(0.01)
        print("there", flush=True)
        write("new")
"""


def processes_with(mark: str) -> list[str]:
    """The command lines of those that have it among their words and are no zombies."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace") if folder.name.isdigit() else ""
        except OSError:
            continue
        if mark in words:
            found.append(words.replace("\0", " "))
    return found


def ours_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name.startswith("vramfit")}


def test_what_a_killed_vramfit_leaves_is_gone_with_the_next_run(place: Place) -> None:
    (place.work / "mine").write_text("mine")
    mark = f"m{os.getpid()}x{place.kind}"
    memory = Path("/dev/shm")
    before, files = ours_in(memory), state_of(place.work)
    process = subprocess.Popen(
        place.words(JOB, mark),
        cwd=place.work,
        env=place.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "there\n"
    assert len(processes_with(mark)) >= 3
    process.kill()
    process.wait(timeout=60)
    assert state_of(place.work) == files
    assert place.run("print('again')").stdout == "again\n"  # which finds its temporary folder empty afterwards
    wait_for(lambda: processes_with(mark) == [])
    assert {name for name in ours_in(memory) - before if not is_held(memory / name)} == set()
    assert state_of(place.work) == files


def is_held(place: Path) -> bool:
    """Somebody's who runs now."""
    lock = place / "lock" if place.is_dir() else place
    return subprocess.run(["flock", "-n", str(lock), "true"], capture_output=True).returncode != 0
