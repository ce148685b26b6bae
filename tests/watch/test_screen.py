"""The view in a real terminal: tmux."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import uuid
from collections.abc import Iterator

import pytest
from machine import GIB, Machine
from product import VRAMFIT, wait_for

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Terminal:
    """A shell in a tmux server of its own, with the machine's environment."""

    def __init__(self, machine: Machine) -> None:
        self.name = f"vramfit-{uuid.uuid4().hex[:8]}"
        self.machine = machine
        self.tmux("new-session", "-d", "-x", "80", "-y", "24", "env PS1='$ ' bash --norc --noprofile")

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-u", "-f", "/dev/null", "-L", self.name, *words]
        return subprocess.run(
            command, env=self.machine.environment(), capture_output=True, text=True, check=True
        ).stdout

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def screen(self) -> list[str]:
        return self.tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def settings(self) -> str:
        """The terminal's own settings, as stty says them."""
        path = self.machine.product.folder / uuid.uuid4().hex
        self.keys(f"stty -a > {path}; touch {path}.done", "Enter")
        wait_for(path.with_name(path.name + ".done").exists)
        return path.read_text()

    def watch(self, *words: str, variables: str = "") -> None:
        self.keys(f"{variables} {VRAMFIT} watch --interval 100ms {shlex.join(words)}; echo ended $?", "Enter")
        wait_for(lambda: self.screen()[0].startswith("vramfit") and self.screen()[-1].startswith("q quit"))

    def close(self) -> None:
        subprocess.run(["tmux", "-L", self.name, "kill-server"], capture_output=True)


@pytest.fixture
def terminal(machine: Machine, own_pid: int) -> Iterator[Terminal]:
    machine.script("0 utilization 50", f"0 process {own_pid} {9 * GIB}", f"1 hidden {GIB}")
    made = Terminal(machine)
    yield made
    made.close()


def shows(terminal: Terminal, text: str) -> None:
    wait_for(lambda: any(text in line for line in terminal.screen()))


def test_it_draws_resizes_and_gives_the_terminal_back(terminal: Terminal) -> None:
    before = terminal.settings()
    terminal.watch()
    shows(terminal, "9.00 GiB of 23.69 GiB")
    shows(terminal, str(os.getpid()))
    for columns, rows in ((120, 40), (40, 10), (80, 24)):
        terminal.tmux("resize-window", "-x", str(columns), "-y", str(rows))
        wait_for(lambda rows=rows: len(terminal.screen()) == rows and terminal.screen()[-1].startswith("q quit"))
        assert max(len(line) for line in terminal.screen()) <= columns
    terminal.keys("q")
    shows(terminal, "ended 0")
    assert not any("RTX 3090" in line for line in terminal.screen())
    assert terminal.settings() == before


def test_ctrl_c_gives_the_terminal_back(terminal: Terminal) -> None:
    before = terminal.settings()
    terminal.watch()
    terminal.keys("C-c")
    shows(terminal, "ended")
    assert terminal.settings() == before


def test_keys_choose_what_is_shown(terminal: Terminal) -> None:
    terminal.watch()
    terminal.keys("h")
    shows(terminal, "tree: workers under the process that started them")
    terminal.keys("h")
    terminal.keys("s")
    shows(terminal, "sort: card")
    terminal.keys("/", "n", "o", "n", "e")
    shows(terminal, "no process matches the filter")
    terminal.keys("Escape")
    shows(terminal, str(os.getpid()))
    terminal.keys("Space")
    shows(terminal, "PAUSED")
    terminal.keys("q")
    shows(terminal, "ended 0")


def test_one_card_is_shown_alone(terminal: Terminal) -> None:
    terminal.watch("--card", "1")
    shows(terminal, "1024 MiB of 23.69 GiB")
    shows(terminal, "no process uses this card")
    assert not any("9.00 GiB" in line for line in terminal.screen())
    terminal.keys("0")
    shows(terminal, str(os.getpid()))
    assert not any("1024 MiB of" in line for line in terminal.screen())
    terminal.keys("Right")
    shows(terminal, "GPU 1: memory")
    terminal.keys("a")
    shows(terminal, "0-9 card")
    shows(terminal, "9.00 GiB of 23.69 GiB")
    shows(terminal, "1024 MiB of 23.69 GiB")
    terminal.keys("q")
    shows(terminal, "ended 0")


def test_no_colour_and_no_unicode(terminal: Terminal) -> None:
    terminal.watch("--no-unicode", variables="NO_COLOR=1")
    shows(terminal, "[####")
    drawn = terminal.tmux("capture-pane", "-p", "-e")
    assert not re.search(r"\x1b\[[0-9;]*(3[0-7]|4[0-7])m", drawn)  # 39 and 49 are tmux's own: the default
    assert drawn.isascii()
    terminal.keys("q")
    shows(terminal, "ended 0")


def test_what_happens_is_seen_while_it_happens(terminal: Terminal) -> None:
    terminal.watch()
    terminal.machine.script("0 lost", f"1 hidden {GIB}")
    shows(terminal, "! fell off the bus")
    terminal.machine.script("driver gone")
    shows(terminal, "! the driver is not loaded")
    terminal.machine.script("0 utilization 99")
    shows(terminal, "busy 99 %")
    terminal.keys("q")
    shows(terminal, "ended 0")
