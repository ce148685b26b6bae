"""Asks two builds of vramfit the same questions and shows where their answers differ: before a change and after it.

    python bench/same_answers.py BEFORE AFTER --python PYTHON [--only texts|snapshots|estimates|runs|fits] [--runs N]

BEFORE and AFTER are the two programs (`build/dev/stage/bin/vramfit` of two trees), PYTHON has a CUDA build of torch.
Texts and scripts are those of bench/doctor, snapshots those of fixtures. What a clock, a process number or a folder
decides is left out of both answers; all else has to be the same. Exit code 1: something differs.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CARD = "rtx3060"
# Fields that a clock, the machine's load or chance decide.
NOT_COMPARED = re.compile(r"seconds|_ns$|_ms$|^(pid|uuid|run|vramfit|date|process|host_bytes|host_peak_bytes)$")
# And of what ran: of a snapshot's replay "proof" is the answer itself, of a text "number" is what was read.
NOT_COMPARED_OF_RUNS = re.compile(r"^(number|proof)$")
FOLDER = re.compile(r"/[^\s\"']*/vramfit[^\s\"']*|/tmp/[^\s\"']*")


def questions(only: str | None, runs: int, python: str) -> Iterator[tuple[str, list[str]]]:
    """A name and the words behind the program, for each."""
    scripts = sorted((ROOT / "bench" / "doctor" / "scripts").glob("*.py"))
    kinds: dict[str, list[tuple[str, list[str]]]] = {
        "texts": [
            (path.name, ["doctor", str(path), "--json", "-"])
            for folder in ("bench/doctor/texts", "fixtures/nvidia_smi")
            for path in sorted((ROOT / folder).iterdir())
            if path.is_file()
        ],
        "snapshots": [
            (path.name, ["replay", str(path), "--json", "-"])
            for path in sorted((ROOT / "fixtures" / "snapshots").iterdir())
            if path.suffix in (".pickle", ".pkl")
        ],
        "estimates": [
            (network, ["estimate", network, "--gpu", card, "--batch", "8", "--json", "-"])
            for network in ("resnet50", "vit_b_16", "convnext_tiny")
            for card in (CARD, "t4", "h100")
        ],
        "runs": [
            (path.name, ["run", "--gpu", CARD, "--json", "-", "--", python, str(path)]) for path in scripts[:runs]
        ],
        "fits": [
            (path.name, ["fit", "--gpu", CARD, "--no-verify", "--json", "-", "--", python, str(path)])
            for path in scripts[: runs // 4]
        ],
    }
    for kind, asked in kinds.items():
        if only in (None, kind):
            yield from ((f"{kind}: {name}", words) for name, words in asked)


def comparable(value: Any, is_of_run: bool) -> Any:
    if isinstance(value, dict):
        return {
            key: comparable(one, is_of_run)
            for key, one in value.items()
            if not NOT_COMPARED.search(key) and not (is_of_run and NOT_COMPARED_OF_RUNS.search(key))
        }
    if isinstance(value, list):
        return [comparable(one, is_of_run) for one in value]
    return FOLDER.sub("FOLDER", value) if isinstance(value, str) else value


def answer(program: str, words: list[str]) -> list[str]:
    """Lines of what it wrote, and of its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, VRAMFIT_STORE=f"{folder}/store/runs.db")
        done = subprocess.run([program, *words], cwd=folder, env=environment, capture_output=True, text=True)
    try:
        told = json.dumps(comparable(json.loads(done.stdout), words[0] in ("run", "fit", "estimate")), indent=1)
    except json.JSONDecodeError:
        told = FOLDER.sub("FOLDER", done.stdout + done.stderr)
    return [f"exit code {done.returncode}", *told.splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", choices=("texts", "snapshots", "estimates", "runs", "fits"))
    parser.add_argument("--runs", type=int, default=12, help="scripts that are run; a quarter of them is fitted too")
    options = parser.parse_args()
    before, after = (str(path.resolve()) for path in (options.before, options.after))
    asked, different = 0, 0
    for name, words in questions(options.only, options.runs, options.python):
        asked += 1
        one, other = answer(before, words), answer(after, words)
        if one == other:
            continue
        different += 1
        lines = list(difflib.unified_diff(one, other, "before", "after", lineterm="", n=1))
        print(name, *(f"  {line}" for line in lines[:24]), sep="\n", flush=True)
    print(f"{asked} questions, {different} answers differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
