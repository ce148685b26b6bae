"""Colour and rewritten lines on a terminal only, and never where NO_COLOR is set."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

from product import VRAMFIT, Product

SCRIPT = "import torch\ntorch.zeros(2**20, device='cuda')\n"
GREEN = b"\x1b[32m"


def read_to_the_end(terminal: int) -> bytes:
    seen = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        seen += part
    os.close(terminal)
    return seen


def see_on_terminal(product: Product, **variables: str) -> bytes:
    """What a terminal receives from `vramfit run`."""
    ours, theirs = pty.openpty()
    environment = {**product.environment(**variables), "TERM": "xterm", "NO_COLOR": variables.get("NO_COLOR", "")}
    words = [str(VRAMFIT), "run", "--gpu", "rtx3060", "--", sys.executable, str(product.script(SCRIPT))]
    child = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment, cwd=product.folder
    )
    os.close(theirs)
    seen = read_to_the_end(ours)
    assert child.wait(timeout=60) == 0, seen.decode()
    return seen


def read_page(product: Product, words: list[str], columns: int, **variables: str) -> list[str]:
    """The lines that a terminal of so many columns receives."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**product.environment(), "TERM": "xterm", "NO_COLOR": "1", **variables}
    child = subprocess.Popen(
        [str(VRAMFIT), *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        cwd=product.folder,
    )
    os.close(theirs)
    seen = read_to_the_end(ours)
    child.wait(timeout=60)
    return seen.decode().replace("\r\n", "\n").splitlines()


def test_pages_are_wrapped_for_a_narrow_terminal(product: Product) -> None:
    log = product.folder / "train.log"
    log.write_text(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity of "
        "23.69 GiB of which 101.06 MiB is free. Including non-PyTorch memory, this process has 23.58 GiB memory in "
        "use. Of the allocated memory 22.31 GiB is allocated by PyTorch, and 112.43 MiB is reserved by PyTorch but "
        "unallocated.\n"
    )
    narrow = read_page(product, ["doctor", "train.log"], 40)
    assert any("help:" in line for line in narrow)
    commands = ("$ ", "#")
    words = [line for line in narrow if not line.strip().startswith(commands) and " " in line.strip()]
    assert all(len(line) <= 40 for line in words), "\n".join(words)
    assert max(len(line) for line in read_page(product, ["doctor", "train.log"], 100)) > 60
    assert all(len(line) <= 40 for line in read_page(product, ["explain", "VF101"], 40)[:12])
    assert all(len(line) <= 40 for line in read_page(product, ["sweep", "--help"], 40)[:20])


def test_without_a_locale_there_is_only_ascii(product: Product) -> None:
    (product.folder / "job.log").write_text("step 3 loss 0.5\nValueError: shapes do not agree\n")
    unset = {"LC_ALL": "", "LC_CTYPE": "", "LANG": ""}
    for locale in (unset, {**unset, "LANG": "C"}):
        for words in (["doctor", "job.log"], ["estimate", "resnet18", "--gpu", "t4"], ["gpus", "t4"]):
            assert all(line.isascii() for line in read_page(product, words, 80, **locale)), words
    assert not all(line.isascii() for line in read_page(product, ["doctor", "job.log"], 80, LANG="C.UTF-8"))


def test_marks_are_coloured_on_a_terminal(product: Product) -> None:
    assert GREEN + "[✓]".encode() in see_on_terminal(product)


def test_no_color_is_honoured(product: Product) -> None:
    seen = see_on_terminal(product, NO_COLOR="1")
    assert GREEN not in seen and "[✓]".encode() in seen


def test_elsewhere_there_is_neither_colour_nor_a_rewritten_line(product: Product) -> None:
    done = product.run(SCRIPT)
    assert "[✓]" in done.stderr
    assert "\x1b" not in done.stderr and "\r" not in done.stderr
    assert all(len(line) <= 80 for line in done.stderr.splitlines()), done.stderr


ASKS_ITS_TERMINAL = """
import os
import sys

import torch

rows, columns = os.popen("stty size", "r").read().split()
assert (rows, columns) == ("40", "90"), (rows, columns)
assert sys.stdin.read() == ""
weights = torch.nn.Linear(1000, 1000).cuda()
for _ in range(4):
    weights(torch.zeros({batch}, 1000, device="cuda")).sum().backward()
"""


def test_jobs_in_the_background_have_a_terminal_of_the_same_size_with_nothing_to_read(product: Product) -> None:
    """`fit` runs a job without its output. Scripts ask their stdin for the screen's width (kuangliu/pytorch-cifar)."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 90, 0, 0))
    for script, status in ((ASKS_ITS_TERMINAL.format(batch=1000), 0), (ASKS_ITS_TERMINAL.format(batch=10**7), 1)):
        for flags in ((), ("-X", "utf8")):
            words = [str(VRAMFIT), "fit", "--gpu", "rtx3060", "--no-verify", "--json", "answer.json", "--"]
            words += [sys.executable, *flags, str(product.script(script))]
            done = subprocess.run(
                words,
                stdin=theirs,
                capture_output=True,
                text=True,
                env=product.environment(),
                cwd=product.folder,
                timeout=300,
            )
            assert "AssertionError" not in done.stderr and "does not run" not in done.stderr, done.stderr
            assert done.returncode == status, done.stderr
    os.close(ours)
    os.close(theirs)
