"""What never ends is read up to a limit, or refused, and said to be that. How long that takes is not asserted."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from typing import IO

import pytest
from product import VRAMFIT, Finished, Product

LINE = "step 1 loss 0.5"
ONE_LINE = ["sh", "-c", "tr '\\0' x < /dev/zero"]
MANY_LINES = ["yes", LINE]


@contextlib.contextmanager
def writing(words: list[str], to: int | IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A program that writes until it is ended."""
    writer = subprocess.Popen(words, stdout=to, stderr=subprocess.DEVNULL, process_group=0)
    try:
        yield writer
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(writer.pid, 9)
        writer.wait()
        if writer.stdout is not None:
            writer.stdout.close()


def ask(product: Product, stdin: IO[bytes] | int, *words: str) -> Finished:
    done = subprocess.run(
        [str(VRAMFIT), *words],
        cwd=product.folder,
        env=product.environment(),
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=600,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("words", "said"),
    [(MANY_LINES, "behind its first 256 MiB"), (ONE_LINE, "behind a line that does not end")],
    ids=["lines", "a_line"],
)
def test_a_pipe_without_an_end_is_read_in_part_and_is_not_well(product: Product, words: list[str], said: str) -> None:
    with writing(words, subprocess.PIPE) as writer:
        assert writer.stdout is not None
        done = ask(product, writer.stdout, "doctor", "-v", "-")
        assert writer.poll() is None, "it still had something to say"
    assert done.exit_code == 1 and "VF001" in done.stdout, str(done)
    assert said in " ".join(done.stdout.split()), str(done)


def test_a_named_pipe_without_an_end_is_read_in_part(product: Product) -> None:
    pipe = product.folder / "train.fifo"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # without it nobody can open the other end yet
    with open(pipe, "wb") as end, writing(MANY_LINES, end):
        done = ask(product, subprocess.DEVNULL, "doctor", "-v", str(pipe))
    os.close(reading)
    assert done.exit_code == 1 and "VF001" in done.stdout, str(done)
    assert "behind its first 256 MiB" in " ".join(done.stdout.split()), str(done)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_a_device_is_refused_as_a_file_and_as_standard_input(product: Product, device: str) -> None:
    for verb, words in (("doctor", [device]), ("replay", [device]), ("doctor", ["-"])):
        with open(device, "rb") as stdin:
            done = ask(product, stdin, verb, *words)
        assert done.exit_code == 2 and done.stderr, (verb, words, str(done))
        assert not done.stdout.startswith("[✓]")


def test_a_file_that_somebody_goes_on_writing_is_read_as_far_as_it_went(product: Product) -> None:
    log = product.folder / "train.log"
    log.write_text(f"{LINE}\n" * 1000)
    # At a limit of its own the writer fails, where nobody ended it.
    with open(log, "ab") as end, writing(["sh", "-c", f"ulimit -f 8388608; exec yes '{LINE}'"], end) as writer:
        done = ask(product, subprocess.DEVNULL, "doctor", str(log))
        assert writer.poll() is None, "the doctor was done before the writer"
    assert done.exit_code == 0, str(done)


def test_a_snapshot_that_never_ends_is_no_snapshot(product: Product) -> None:
    pipe = product.folder / "snapshot.pickle"
    os.mkfifo(pipe)
    alone = ask(product, subprocess.DEVNULL, "replay", str(pipe))
    assert alone.exit_code == 2 and alone.stderr, str(alone)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with open(pipe, "wb") as end, writing(MANY_LINES, end):
        done = ask(product, subprocess.DEVNULL, "replay", str(pipe))
    os.close(reading)
    assert done.exit_code == 2 and done.stderr, str(done)


def test_a_growing_file_of_text_is_no_snapshot(product: Product) -> None:
    growing = product.folder / "snapshot.pickle"
    growing.write_text(LINE)
    with open(growing, "ab") as end, writing(["sh", "-c", f"ulimit -f 8388608; exec yes '{LINE}'"], end):
        done = ask(product, subprocess.DEVNULL, "replay", str(growing))
    assert done.exit_code == 2 and "this is no memory snapshot: it is a text" in done.stderr, str(done)


def test_what_explains_a_code_reads_no_input(product: Product) -> None:
    quiet = ask(product, subprocess.DEVNULL, "explain", "VF201")
    with writing(MANY_LINES, subprocess.PIPE) as writer:
        assert writer.stdout is not None
        fed = ask(product, writer.stdout, "explain", "VF201")
    assert (fed.exit_code, fed.stdout) == (0, quiet.stdout)


def test_a_stream_beside_a_log_leaves_the_log_read(product: Product) -> None:
    log = product.folder / "train.log"
    log.write_text(f"{LINE}\nKilled\n")
    with open("/dev/zero", "rb") as stdin:
        done = ask(product, stdin, "doctor", str(log), "-")
    assert done.exit_code == 1 and "VF501" in done.stdout, str(done)
    assert "standard input" in done.stdout + done.stderr
