"""Folders of one machine fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken_trees import run_gate, write


@pytest.mark.parametrize(
    "folder", ["/ro" + "ot/cache", "/wo" + "rk/main", "/ho" + "me/anna/x", "../sha" + "red/design.md"]
)
def test_a_machines_own_folder_fails(root: Path, tmp_path: Path, folder: str) -> None:
    done = run_gate(root, "check_paths", write(tmp_path, {"docs/x.md": f"first\nsee {folder}\n"}))
    assert done.returncode == 1
    assert done.stdout.startswith("docs/x.md:2: names ")


def test_folders_that_every_machine_has_pass(root: Path, tmp_path: Path) -> None:
    text = "/dev/shm/vramfit.1 /usr/bin/env $HOME/.cache net/work/x ~/x /home/me/train.py https://a.org/root/x"
    assert run_gate(root, "check_paths", write(tmp_path, {"a.py": text})).returncode == 0
