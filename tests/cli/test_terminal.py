"""Colour and rewritten lines on a terminal only, and never where NO_COLOR is set."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from product import VRAMFIT, Product

SCRIPT = "import torch\ntorch.zeros(2**20, device='cuda')\n"
GREEN = b"\x1b[32m"


def see_on_terminal(product: Product, **variables: str) -> bytes:
    """What a terminal receives from `vramfit run`."""
    ours, theirs = pty.openpty()
    environment = {**product.environment(**variables), "TERM": "xterm", "NO_COLOR": variables.get("NO_COLOR", "")}
    words = [str(VRAMFIT), "run", "--gpu", "rtx3060", "--", sys.executable, str(product.script(SCRIPT))]
    child = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment, cwd=product.folder
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    assert child.wait(timeout=60) == 0, seen.decode()
    return seen


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
