"""Subjects of commits say what changed, and bodies why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from broken_trees import run_gate


def commit(tree: Path, subject: str, date: str = "2026-12-01T00:00:00Z", body: str = "It was not told before.") -> None:
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
        "Plans",
        "asdf",
        "Two things",
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


def test_a_commit_behind_one_with_an_old_date_is_looked_at(root: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    commit(tmp_path, "Fix")
    commit(tmp_path, "Plans of a release are read by the next one", date="2026-11-01T00:00:00Z")
    done = run_gate(root, "check_subjects", tmp_path)
    assert (done.returncode, '"Fix" does not say' in done.stdout) == (1, True)


def test_a_commit_since_another_is_looked_at_whatever_its_date(root: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    commit(tmp_path, "Fix")
    commit(tmp_path, "Format", date="2026-11-01T00:00:00Z")
    command = [sys.executable, root / "tools" / "check_subjects", tmp_path, "HEAD~1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout.count("does not say"), '"Format"' in done.stdout) == (1, 1, True)


def test_a_merge_is_looked_at(root: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    commit(tmp_path, "Plans of a release are read by the next one")
    subprocess.run(["git", "-C", tmp_path, "checkout", "--quiet", "-b", "side"], check=True)
    commit(tmp_path, "Notes of a release are read by the next one")
    subprocess.run(["git", "-C", tmp_path, "checkout", "--quiet", "-"], check=True)
    commit(tmp_path, "Cards of a release are read by the next one")
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    merge = ["git", "-C", tmp_path, *who, "merge", "--quiet", "--no-ff", "-m", "Plan: all of it", "side"]
    subprocess.run(merge, check=True, env=os.environ | {"GIT_COMMITTER_DATE": "2026-12-01T00:00:00Z"})
    done = run_gate(root, "check_subjects", tmp_path)
    assert (done.returncode, done.stdout.count("does not say")) == (1, 1)


@pytest.mark.parametrize("body", ["", ".", "Signed-off-by: Somebody <x@example.org>\nReviewed-by: Y <y@example.org>"])
def test_a_commit_without_a_reason_fails(root: Path, tmp_path: Path, body: str) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    commit(tmp_path, "Plans of a release are read by the next one", body=body)
    done = run_gate(root, "check_subjects", tmp_path)
    assert (done.returncode, "gives no reason in its body" in done.stdout) == (1, True)


def test_where_there_is_no_history_no_subject_is_called_good(root: Path, tmp_path: Path) -> None:
    done = run_gate(root, "check_subjects", tmp_path)
    assert (done.returncode, done.stdout) == (0, "no history is here: no subject was looked at\n")
