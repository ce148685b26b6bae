"""The README's commands: they name what exists, and (slow) they print what it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest


def commands(root: Path) -> list[list[str]]:
    lines = (root / "README.md").read_text().splitlines()
    return [shlex.split(line[2:]) for line in lines if line.startswith("$ ")]


def test_the_two_commands_are_there_and_name_existing_files(root: Path) -> None:
    found = commands(root)
    assert [words[0] for words in found] == ["./vramfit", "./test"]
    for words in found:
        for word in words:
            if "/" in word:
                assert (root / word).exists(), word


def test_the_transcript_is_of_the_command_shown(root: Path) -> None:
    text = (root / "README.md").read_text()
    (marked,) = re.findall(r"<!-- run: (.+?) -->", text)
    assert shlex.split(marked) == commands(root)[0]


def test_links_lead_somewhere(root: Path) -> None:
    pages = [root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").rglob("*.md")]
    links = [(page, target) for page in pages for target in re.findall(r"\]\(([^)#:\s]+)\)", page.read_text())]
    assert links
    assert [(page.name, target) for page, target in links if not (page.parent / target).exists()] == []


@pytest.mark.slow
def test_the_transcript_is_what_the_command_prints(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, root / "tools" / "refresh_readme", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_the_glossary_is_one_that_people_read(root: Path) -> None:
    rows = [line for line in (root / "docs" / "glossary.md").read_text().splitlines() if line.startswith("| ")]
    assert len(rows) - 1 <= 30, "thirty words: choose a plainer name for one of them"
