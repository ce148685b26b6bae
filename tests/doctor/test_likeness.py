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
