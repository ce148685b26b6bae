"""The words of a text by which texts are compared, and pieces of them: as src/doctor/likeness.cc finds them.

tests/doctor/likeness_words.tsv has what both must find.
"""

from __future__ import annotations

import re

FIRST_BYTES, LAST_BYTES = 12_000, 8_000  # as kSampleFirst and kSampleLast of src/model/evidence.h
SHORTEST_PIECE, LONGEST_PIECE = 3, 5  # letters, the marks of a word's ends among them
WORD = re.compile(r"[a-z_]{2,}|0|[\u00c0-\u024f\u0370-\u1fff\u3040-\ud7ff]")


def sample(raw: bytes) -> bytes:
    if len(raw) <= FIRST_BYTES + LAST_BYTES:
        return raw
    return raw[:FIRST_BYTES] + b"\n" + raw[-LAST_BYTES:]


def words_that_count(raw: bytes) -> list[str]:
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", " ", raw.decode("utf-8", "replace"))
    text = re.sub(r"0[xX][0-9a-fA-F]+", " hex ", text)
    text = re.sub(r"[0-9]+(\.[0-9]+)*", "0", text)
    return WORD.findall("".join(letter.lower() if letter < "\x80" else letter for letter in text))


def pieces_of(word: str) -> list[str]:
    """Letters in a row, of a word of small letters with its ends: "~<kil", "~kill", "~led>" of "killed"."""
    if len(word) < 2:
        return []
    marked = f"<{word}>"
    lengths = range(SHORTEST_PIECE, min(LONGEST_PIECE, len(marked)) + 1)
    return [f"~{marked[at : at + length]}" for length in lengths for at in range(len(marked) - length + 1)]
