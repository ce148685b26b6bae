"""The benchmark's writer writes what Python can read, and reading a large file takes less memory than the file has."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest
from dump import ROOT, dump
from test_fixtures import content, expected

sys.path.insert(0, str(ROOT / "bench"))
from snapshot_file import write_snapshot

MIB = 1 << 20


def test_the_written_snapshot_is_one_for_python_too(tmp_path: Path) -> None:
    path = tmp_path / "small.pickle"
    entries = write_snapshot(path, 1 << 18)
    snapshot = pickle.loads(path.read_bytes())
    assert len(snapshot["device_traces"][0]) == entries
    assert content(dump("snapshot", path)) == expected(snapshot)


@pytest.mark.parametrize("has_stacks", [True, False], ids=["stacks", "bare"])
def test_memory_stays_below_one_and_a_half_times_the_file(tmp_path: Path, has_stacks: bool) -> None:
    path = tmp_path / "large.pickle"
    entries = write_snapshot(path, 16 * MIB, has_stacks=has_stacks)
    said = dump("count", path)
    assert said["trace_entries"] == entries
    program = 12 * MIB  # the program itself and its window
    assert 0 < said["peak_resident_bytes"] < program + 1.5 * path.stat().st_size
