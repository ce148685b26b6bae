"""Completion in the shells themselves: what a terminal shows after a tab."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import subprocess
import termios
import time

import pytest
from product import STAGE, Product

SHELLS = {
    "bash": (["bash", "--noprofile", "--norc", "-i"], 'eval "$(vramfit completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], 'autoload -Uz compinit; compinit -u -D; eval "$(vramfit completion zsh)"'),
    "fish": (["fish", "--no-config", "-i"], "vramfit completion fish | source"),
}
ESCAPES = re.compile(rb"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[()][0-9A-B]|\x1b[=>78]")

each_shell = pytest.mark.parametrize("shell", SHELLS)


class Terminal:
    """An interactive shell that has loaded its script."""

    def __init__(self, product: Product, shell: str) -> None:
        words, load = SHELLS[shell]
        assert shutil.which(words[0]), f"{words[0]} is missing: tools/set_up test installs it"
        environment = product.environment(TERM="xterm", PS1="$ ", HOME=str(product.folder), LC_ALL="C.UTF-8")
        environment["PATH"] = f"{STAGE / 'bin'}:{environment['PATH']}"
        self.ours, theirs = pty.openpty()
        self.child = subprocess.Popen(
            words,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            cwd=product.folder,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # fish is interactive on its own terminal only
        )
        os.close(theirs)
        self.type(f"{load}; echo lo''aded\n")
        self.wait_for("loaded")

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def read(self, quiet: float) -> str:
        """What comes until nothing more does for so long. fish asks what terminal this is, and waits for an answer."""
        seen = b""
        while select.select([self.ours], [], [], quiet)[0]:
            try:
                part = os.read(self.ours, 65536)
            except OSError:  # the shell has ended: what it said tells why
                break
            if b"\x1b[c" in part or b"\x1b[0c" in part:
                os.write(self.ours, b"\x1b[?62;c")
            seen += part
        return ESCAPES.sub(b"", seen).decode(errors="replace")

    def wait_for(self, word: str, seconds: float = 60) -> str:
        seen, end = "", time.monotonic() + seconds
        while word not in seen:
            assert time.monotonic() < end, seen
            seen += self.read(0.2)
        return seen

    def complete(self, line: str, wanted: str) -> str:
        """What is shown once a tab was pressed, and pressed again, behind the line."""
        self.type(line)
        self.read(0.5)
        self.type("\t")
        seen, end = self.read(0.5), time.monotonic() + 60
        while wanted not in seen:
            assert time.monotonic() < end, seen
            self.type("\t")
            seen += self.read(1)
        return seen

    def end(self) -> None:
        self.child.kill()
        self.child.wait()
        os.close(self.ours)


@pytest.fixture
def terminal(product: Product, request: pytest.FixtureRequest):
    made = Terminal(product, request.param)
    yield made
    made.end()


in_each_shell = pytest.mark.parametrize("terminal", SHELLS, indirect=True)


@in_each_shell
def test_a_verb_is_completed(terminal: Terminal):
    # What is left of the word is filled in behind what was typed.
    assert "ify" in terminal.complete("vramfit ver", "ify")


@in_each_shell
def test_options_of_the_verb_are_shown(terminal: Terminal):
    seen = terminal.complete("vramfit fit --ma", "slowdown")
    assert "--markdown" not in seen


@in_each_shell
def test_cards_are_shown_behind_gpu(terminal: Terminal):
    seen = terminal.complete("vramfit run --gpu rtx409", "rtx4090-laptop")
    assert "rtx3090" not in seen


@in_each_shell
def test_slices_of_a_card_are_completed(terminal: Terminal):
    # A colon parts words in bash, and descriptions in zsh.
    terminal.complete("vramfit run --gpu h100-pcie:4", "g.40gb")


@in_each_shell
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("vramfit run --gpu=rtx409", "rtx4090-laptop"),
        ("vramfit fit --only micro", "_batch"),
        ("vramfit fit --deny=autocast,micro", "_batch"),
        ("vramfit export 1 --to perf", "etto"),
        ("vramfit runs --verdict out", "_of_memory"),
        ("vramfit explain VF2", "VF201"),
        ("vramfit estimate resnext50", "_32x4d"),
        ("vramfit estimate --gpu rtx509", "0-laptop"),
        ("vramfit sweep --vary ste", "ps="),
        ("vramfit sweep --vary amp=off,b", "f16"),
        ("vramfit sweep --vary gpu=t4,rtx509", "0-laptop"),
    ],
)
def test_words_are_completed(terminal: Terminal, line: str, wanted: str):
    terminal.complete(line, wanted)


def test_numbers_of_runs_are_offered(product: Product):
    product.call("watch", "--once")
    for shown in ("show", "compare", "report", "export"):
        assert product.call("complete", "--", shown, "").exit_code == 0
    none = product.call("complete", "--", "show", "").stdout
    run = product.call("run", "--gpu", "t4", "--", "/bin/true")
    assert run.exit_code == 0, run
    offered = product.call("complete", "--", "show", "").stdout
    assert offered != none
    assert re.search(r"^\d+\trun /bin/true$", offered, re.MULTILINE), offered


def test_files_may_stand_where_the_job_does(product: Product):
    assert product.call("complete", "--", "run", "--gpu", "t4", "--", "tr").stdout == ":files\n"
    assert product.call("complete", "--", "run", "--json", "").stdout == ":files\n"


@each_shell
def test_the_script_is_the_shells_own(product: Product, shell: str):
    script = product.call("completion", shell).stdout
    done = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
