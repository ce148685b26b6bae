"""Ctrl-Z, fg, bg and Ctrl-C in a shell with job control, as they are without vramfit in between."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from product import VRAMFIT, Product, wait_for

COUNTS = """
import os, sys, time
open("job.pid", "w").write(str(os.getpid()))
for i in range(3000):
    open("count", "w").write(str(i))
    time.sleep(0.02)
"""


class Shell:
    """An interactive bash on a terminal of its own."""

    def __init__(self, product: Product) -> None:
        self.folder = product.folder
        environment = {**product.environment(), "PS1": "ready> ", "TERM": "dumb", "NO_COLOR": "1"}
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(product.folder)
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"], environment)
        self.seen = ""
        self.until("ready> ")

    def until(self, pattern: str, seconds: float = 60) -> str:
        """What came until the pattern did, which is taken."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen)):
            assert time.monotonic() < end, f"no {pattern!r} in {self.seen!r}"
            if select.select([self.terminal], [], [], 0.2)[0]:
                self.seen += os.read(self.terminal, 65536).decode(errors="replace")
        taken, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return taken

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def command(self, words: str) -> str:
        """What it prints until the next prompt."""
        self.type(words + "\n")
        self.until(re.escape(words[-20:]))
        return self.until("ready> ")

    def bring_to_front(self) -> None:
        """`fg`. What is typed before the shell has given the terminal away would be a letter of its own next line."""
        self.type("fg\n")
        wait_for(lambda: os.tcgetpgrp(self.terminal) != self.pid)

    def close(self) -> None:
        self.type("\x03")
        for job in subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.pid)], capture_output=True, text=True
        ).stdout.split():
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.kill(int(job), signal.SIGTERM)
                os.kill(int(job), signal.SIGCONT)
        os.kill(self.pid, signal.SIGHUP)
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


@pytest.fixture
def shell(product: Product) -> Iterator[Shell]:
    made = Shell(product)
    yield made
    made.close()


def state_of(pid: int) -> str:
    """The letter of /proc; empty: it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    state = text.rpartition(")")[2].split()[0]
    return "" if state == "Z" else state


def started(shell: Shell) -> int:
    path = shell.folder / "job.pid"
    pid = wait_for(lambda: path.exists() and path.read_text(), 60)
    wait_for(lambda: (shell.folder / "count").exists())
    return int(pid)


def goes_on(folder: Path) -> Callable[[], bool]:
    before = (folder / "count").read_text()
    return lambda: (folder / "count").read_text() not in ("", before)


def words_of(verb: str, product: Product) -> str:
    script = product.script(COUNTS)
    options = "run --gpu t4 --files shared" if verb == "run" else "watch"
    return f"{VRAMFIT} {options} -- {sys.executable} {script}"


@pytest.mark.parametrize("verb", ["run", "watch"])
def test_ctrl_z_stops_it_as_its_job_and_fg_goes_on(product: Product, shell: Shell, verb: str) -> None:
    shell.type(words_of(verb, product) + "\n")
    job = started(shell)
    for _ in range(2):
        shell.type("\x1a")
        shell.until("Stopped")
        shell.until("ready> ")
        assert state_of(job) == "T"
        assert "Stopped" in shell.command("jobs -l")
        moved = goes_on(product.folder)
        shell.type("fg\n")
        wait_for(moved)
    shell.type("\x03")
    shell.until("ready> ")
    wait_for(lambda: not state_of(job))
    assert shell.command("jobs").strip() == "ready>"


def test_a_stopped_one_goes_on_in_the_background_and_leaves_the_terminal_alone(product: Product, shell: Shell) -> None:
    shell.type(words_of("run", product) + "\n")
    job = started(shell)
    shell.type("\x1a")
    shell.until("Stopped")
    shell.until("ready> ")
    moved = goes_on(product.folder)
    shell.command("bg")
    wait_for(moved)
    assert "still here" in shell.command("echo still here")
    shell.bring_to_front()
    shell.type("\x1a")
    shell.until("Stopped")
    shell.until("ready> ")
    assert state_of(job) == "T"
    shell.command("bg")
    wait_for(lambda: state_of(job) != "T")
    os.kill(job, signal.SIGTERM)
    wait_for(lambda: not state_of(job))
    assert "still here" in shell.command("wait; echo still here")


@pytest.mark.parametrize("how", ["kill %1", "kill -INT %1; kill -CONT %1", "kill -9 $(cat job.pid); kill -CONT %1"])
def test_a_stopped_one_can_be_ended(product: Product, shell: Shell, how: str) -> None:
    shell.type(words_of("run", product) + "\n")
    job = started(shell)
    shell.type("\x1a")
    shell.until("Stopped")
    shell.until("ready> ")
    shell.command(how)
    shell.command("wait %1")  # which returns at once while the shell takes it for stopped
    wait_for(lambda: not state_of(job))


def test_a_pipeline_stops_as_a_whole(product: Product, shell: Shell) -> None:
    shell.type(words_of("run", product) + " 2>&1 | cat\n")
    job = started(shell)
    shell.type("\x1a")
    shell.until("Stopped")
    shell.until("ready> ")
    assert state_of(job) == "T"
    moved = goes_on(product.folder)
    shell.type("fg\n")
    wait_for(moved)
    shell.type("\x03")
    shell.until("ready> ")
    wait_for(lambda: not state_of(job))


def test_a_job_that_reads_the_terminal_in_the_background_waits_for_fg(product: Product, shell: Shell) -> None:
    script = product.script("print('it is', input('name? '))\n")
    shell.type(f"{VRAMFIT} run --gpu t4 -- {sys.executable} {script} &\n")
    shell.until("ready> ")

    def is_stopped() -> bool:
        return "Stopped" in shell.command("jobs")

    wait_for(is_stopped, 60)
    shell.bring_to_front()
    shell.type("Ada\n")
    shell.until("it is Ada")
    shell.until("ready> ")


def test_a_job_that_somebody_stopped_hears_of_the_end(product: Product) -> None:
    """No terminal: vramfit waits on, and what ends it ends the job."""
    words = words_of("run", product).split()
    child = subprocess.Popen(
        words, cwd=product.folder, env=product.environment(), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    path = product.folder / "job.pid"
    job = int(wait_for(lambda: path.exists() and path.read_text(), 60))
    os.kill(job, signal.SIGSTOP)
    wait_for(lambda: state_of(job) == "T")
    time.sleep(0.5)
    assert state_of(child.pid) == "S"
    child.terminate()
    assert child.wait(20) == 143
    assert not state_of(job)


def test_a_quiet_job_stops_too_and_its_time_limit_with_it(product: Product, shell: Shell) -> None:
    """`fit` runs jobs that have no terminal, in forks of a warm Python."""
    script = product.script("import torch\n" + COUNTS)
    shell.type(f"{VRAMFIT} fit --gpu t4 --files shared --timeout 60 -- {sys.executable} {script}\n")
    job = started(shell)
    shell.type("\x1a")
    shell.until("Stopped")
    shell.until("ready> ")
    wait_for(lambda: state_of(job) == "T")
    moved = goes_on(product.folder)
    shell.type("fg\n")
    wait_for(moved)
    shell.type("\x03")
    shell.until("ready> ")
    wait_for(lambda: not state_of(job))
