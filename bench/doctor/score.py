"""Asks `vramfit doctor` about every text and script of the exam and counts its answers.

    python bench/doctor/score.py --program vramfit [--python PYTHON] [--only texts|scripts] [--files WORD]
                                 [--csv FILE] [--check]

PYTHON, for the scripts, has a CUDA build of torch; each script takes about ten seconds. `--check` fails below 90 %
right, and at any false all-clear or confidently wrong answer. What these mean: README.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
LONGEST_RUN_S = 300
# An answer at or above it tells its reader not to look further.
CONFIDENT = 0.7
# So little is enough to send somebody without a memory trouble the wrong way.
CLAIMED = 0.5
SHARE_RIGHT = 0.9


@dataclass
class Answer:
    """What the doctor said: the label of its first finding, `none` for "all well"."""

    said: str
    confidence: float
    words: str = ""
    verdict: str = ""

    @property
    def is_clear(self) -> bool:
        return self.said == "none"


@dataclass
class Mark:
    file: str
    kind: str
    accepted: str
    said: str
    confidence: float
    right: bool
    false_all_clear: bool
    confidently_wrong: bool
    line_named: bool | None = None
    holder_named: bool | None = None
    verdict: str = ""


def evidence_of(found: list[dict]) -> str:
    parts = [part for finding in found for part in finding["evidence"]]
    return "\n".join(f"{part['text'] or ''} {part['reasoning'] or ''}" for part in parts)


def read_answer(text: str, error: str) -> Answer:
    """No JSON is no answer, and never an all-clear."""
    try:
        told = json.loads(text)
    except ValueError:
        return Answer("no answer", 0.0, verdict=error.strip()[-200:])
    found = told["findings"]
    if told["trouble"] is False:
        return Answer("none", 1.0, evidence_of(found), told["verdict"])
    first = found[0] if found else {"label": "unknown", "confidence": 0.0}
    return Answer(first["label"], first["confidence"] or 0.0, evidence_of(found), told["verdict"])


def find_program(program: str) -> str:
    """Absolute, as it is started in another folder."""
    found = shutil.which(program)
    if found is None:
        raise SystemExit(f"no program {program}")
    return os.path.abspath(found)


def ask(program: str, arguments: list[str]) -> Answer:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answer.json"
        command = [program, "doctor", "--json", str(file), *arguments]
        try:
            done = subprocess.run(
                command, cwd=HERE, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST_RUN_S
            )
        except subprocess.TimeoutExpired:
            return Answer("no answer", 0.0, verdict=f"nothing within {LONGEST_RUN_S} s")
        return read_answer(file.read_text() if file.exists() else "", done.stderr)


def mark_text(row: dict[str, str], answer: Answer) -> Mark:
    accepted = row["labels"].split("|")
    right = answer.said in accepted
    if row["kind"] == "no-trouble":
        wrong = not right and not answer.is_clear and answer.confidence >= CLAIMED
        clear = False
    else:
        clear = answer.is_clear and not right
        wrong = not right and not clear and answer.confidence >= CONFIDENT
    shown = (row["file"], row["kind"], row["labels"], answer.said, answer.confidence)
    return Mark(*shown, right, clear, wrong, verdict=answer.verdict)


def names_line(row: dict[str, str], words: str) -> bool:
    named = set(re.findall(re.escape(row["file"]) + r":(\d+)", words))
    return bool(named & set(row["lines"].split("|")))


def names_holder(row: dict[str, str], words: str) -> bool:
    """One of the names in a path like `module.logged['loss'][3]`, which evidence sets between backticks."""
    paths = " ".join(re.findall(r"`([^`]*)`", words))
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", paths) for name in row["holder"].split("|"))


def mark_script(row: dict[str, str], answer: Answer) -> Mark:
    labelled = answer.said in row["labels"].split("|")
    shown = (row["file"], row["kind"], row["labels"], answer.said, answer.confidence)
    if row["kind"] == "healthy":
        return Mark(*shown, labelled, False, not labelled and answer.confidence >= CLAIMED, verdict=answer.verdict)
    line, holder = names_line(row, answer.words), names_holder(row, answer.words)
    wrong = not labelled and not answer.is_clear and answer.confidence >= CONFIDENT
    return Mark(*shown, labelled and (line or holder), answer.is_clear, wrong, line, holder, answer.verdict)


def read_rows(name: str, word: str) -> list[dict[str, str]]:
    with open(HERE / name, newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if word in row["file"]]


def mark_texts(program: str, word: str) -> Iterator[Mark]:
    for row in read_rows("answers.csv", word):
        yield mark_text(row, ask(program, [f"texts/{row['file']}"]))


def mark_scripts(program: str, python: str, word: str) -> Iterator[Mark]:
    for row in read_rows("scripts.csv", word):
        yield mark_script(row, ask(program, ["--", python, f"scripts/{row['file']}"]))


def count(marks: list[Mark]) -> dict[str, Counter[str]]:
    kinds: dict[str, Counter[str]] = {}
    for mark in marks:
        for kind in (mark.kind, "all"):
            counts = kinds.setdefault(kind, Counter())
            counts.update(asked=1, right=mark.right, clear=mark.false_all_clear, wrong=mark.confidently_wrong)
            counts.update(line=bool(mark.line_named), holder=bool(mark.holder_named))
    return kinds


def print_counts(marks: list[Mark]) -> None:
    print("kind        asked  right   share  false all-clear  confidently wrong")
    for kind, counts in count(marks).items():
        share = f"{100 * counts['right'] / counts['asked']:.0f} %"
        row = f"{kind:11} {counts['asked']:5} {counts['right']:6} {share:>7} {counts['clear']:16} {counts['wrong']:18}"
        named = f"   line named {counts['line']}, holder {counts['holder']}" if counts["line"] else ""
        print(row + named)


def describe(mark: Mark) -> str:
    said = f"{mark.file}: said {mark.said} at {mark.confidence:.2f}"
    if mark.said in mark.accepted.split("|"):
        return f"{said}; neither its line nor its holder is named"
    weight = "FALSE ALL-CLEAR, " if mark.false_all_clear else "CONFIDENTLY WRONG, " if mark.confidently_wrong else ""
    return f"{said}; {weight}right: {mark.accepted.replace('|', ' or ')}"


def print_wrong(marks: Iterable[Mark]) -> None:
    for mark in marks:
        if not mark.right:
            print(describe(mark))


def write_csv(file: str, marks: list[Mark]) -> None:
    with open(file, "w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, fieldnames=list(vars(marks[0])))
        writer.writeheader()
        writer.writerows(vars(mark) for mark in marks)


def passes(marks: list[Mark]) -> bool:
    """Of nothing asked, nothing is known."""
    if not marks or any(mark.false_all_clear or mark.confidently_wrong for mark in marks):
        return False
    return sum(mark.right for mark in marks) >= SHARE_RIGHT * len(marks)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--program", default="vramfit")
    parser.add_argument("--python", default=sys.executable, help="for the scripts: one with a CUDA build of torch")
    parser.add_argument("--only", choices=["texts", "scripts"])
    parser.add_argument("--files", default="", metavar="WORD", help="only those whose name holds it")
    parser.add_argument("--csv", metavar="FILE", help="writes each answer")
    parser.add_argument("--check", action="store_true", help="fails below 90 %% right, at any bad mistake")
    return parser.parse_args()


def mark_groups(arguments: argparse.Namespace) -> dict[str, list[Mark]]:
    program, word = find_program(arguments.program), arguments.files
    groups: dict[str, list[Mark]] = {}
    if arguments.only != "scripts":
        groups["texts"] = list(mark_texts(program, word))
    if arguments.only != "texts":
        groups["scripts"] = list(mark_scripts(program, find_program(arguments.python), word))
    return {name: marks for name, marks in groups.items() if marks}


def main() -> int:
    arguments = parse_arguments()
    groups = mark_groups(arguments)
    for name, marks in groups.items():
        print(f"\n{name}")
        print_counts(marks)
        print_wrong(marks)
    if arguments.csv and groups:
        write_csv(arguments.csv, [mark for marks in groups.values() for mark in marks])
    failed = not groups or not all(passes(marks) for marks in groups.values())
    return 1 if arguments.check and failed else 0


if __name__ == "__main__":
    sys.exit(main())
