"""Texts that no rule knows are compared with published ones: the words of both sides, and what is said of it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "bench" / "doctor"))

import text_words  # noqa: E402
from doctor_calls import Doctor  # noqa: E402


def test_words_are_found_as_by_the_program() -> None:
    """src/doctor/likeness_test.cc asks the program's own for the same lines."""
    rows = (Path(__file__).parent / "likeness_words.tsv").read_text(encoding="utf-8").splitlines()
    assert len(rows) > 5
    for row in rows:
        text, words = row.replace("\\x1b", "\x1b").split("\t")
        assert " ".join(text_words.words_that_count(text.encode())) == words


def test_pieces_of_words_are_found_as_by_the_program() -> None:
    """So does likeness_test.cc; numbers and letters that are words have none."""
    rows = (Path(__file__).parent / "likeness_pieces.tsv").read_text(encoding="utf-8").splitlines()
    assert len(rows) > 5
    for row in rows:
        word, pieces = row.split("\t")
        assert " ".join(text_words.pieces_of(word)) == pieces


def test_the_sample_of_a_long_text_is_its_ends() -> None:
    raw = b"a" * 12_000 + b"b" * 5_000 + b"c" * 8_000
    assert text_words.sample(raw) == b"a" * 12_000 + b"\n" + b"c" * 8_000
    assert text_words.sample(b"short") == b"short"


def test_the_causes_that_are_compared_with_are_those_of_the_texts(doctor: Doctor) -> None:
    """Else somebody added texts, or took a cause away, and did not run `bench/doctor/learn.py --write`."""
    lines = (ROOT / "src" / "doctor" / "likeness_lines.txt").read_text(encoding="utf-8")
    compared = set(lines.partition("\n")[0].split()) - {"codes", "none"}
    texts = (ROOT / "bench" / "doctor" / "known_texts.jsonl").read_text(encoding="utf-8").splitlines()
    assert {code for text in texts for code in json.loads(text)["codes"]} - {"none"} <= compared
    assert compared <= set(re.findall(r"\bVF\d{3}\b", doctor.product.call("explain").stdout))


MESSAGE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 7.79 GiB "
    "of which 12.00 MiB is free. Including non-PyTorch memory, this process has 7.7 GiB memory in use. Of the "
    "allocated memory 7.2 GiB is allocated by PyTorch, and 150.00 MiB is reserved by PyTorch but unallocated. If "
    "reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
    "fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)\n"
)


def test_what_somebody_writes_beside_a_plain_message_tells_the_cause(doctor: Doctor, tmp_path: Path) -> None:
    """The message says that the card is full, six times as long as who pasted it says why."""
    for told, codes in (
        ("train_losses.append(loss) in my loop, GPU use goes up with each batch", ("VF201", "VF203")),
        (
            "My loop does running_loss += loss and every iteration nvidia-smi shows a bit more, after 3000 iterations:",
            ("VF201", "VF203"),
        ),
    ):
        log = tmp_path / "post.txt"
        log.write_text(f"{told}\n{MESSAGE}")
        first = doctor.look(str(log)).result["findings"][0]
        assert first["code"] in codes and first["confidence"] < 0.7, (told, first)
    log.write_text(MESSAGE)
    assert doctor.look(str(log)).result["findings"][0]["code"] == "VF101"
