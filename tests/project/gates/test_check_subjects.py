"""Subjects of commits say what changed, and bodies why."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from broken_trees import run_gate


def commit(tree: Path, subject: str, date: str = "2026-12-01T00:00:00Z", body: str = "Because.") -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    text = ["-m", subject, *(["-m", body] if body else [])]
    environment = os.environ | {"GIT_COMMITTER_DATE": date}
    command = ["git", "-C", tree, *who, "commit", "--quiet", "--allow-empty", *text]
    subprocess.run(command, check=True, env=environment)


@pytest.mark.parametrize(
    "subject",
    [
        "Plan",
        "Plan: what is next",
        "Plan what is next",
        "Plan tells what is open",
        "format",
        "Lines of it fit their page",
        "Fix",
        "A word too many " + 5 * "and more of it ",
    ],
)
def test_a_subject_that_says_nothing_or_too_much_fails(root: Path, tmp_path: Path, subject: str) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    commit(tmp_path, "Plans of a release are read by the next one")
    assert run_gate(root, "check_subjects", tmp_path).stdout == "1 subjects say what changed\n"
    commit(tmp_path, subject)
    done = run_gate(root, "check_subjects", tmp_path)
    assert (done.returncode, subject.strip() in done.stdout) == (1, True)


def test_subjects_of_before_the_check_are_left_alone(root: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    commit(tmp_path, "Plan", date="2026-11-01T00:00:00Z")
    assert run_gate(root, "check_subjects", tmp_path).stdout == "0 subjects say what changed\n"


def test_a_commit_without_a_reason_fails(root: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    commit(tmp_path, "Plans of a release are read by the next one", body="")
    done = run_gate(root, "check_subjects", tmp_path)
    assert (done.returncode, "gives no reason in its body" in done.stdout) == (1, True)


def test_where_there_is_no_history_no_subject_is_called_good(root: Path, tmp_path: Path) -> None:
    done = run_gate(root, "check_subjects", tmp_path)
    assert (done.returncode, done.stdout) == (0, "no history is here: no subject was looked at\n")
