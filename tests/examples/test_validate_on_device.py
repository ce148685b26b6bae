"""The comparison of two measurements, and the list of workloads. Measuring itself needs a card: see docs."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "validate_on_device"

ROW = {
    "status": "ok",
    "allocated_bytes": 1000,
    "reserved_bytes": 2 << 20,
    "blocks": {"512": 3, "1048576": 1},
    "segment_sizes": {"2097152": 1},
    "benchmark": False,
}


def result(**rows: dict) -> dict:
    card = {"name": "NVIDIA H200", "cudnn": 92000}
    return {"provenance": {"card": card, "virtual": False, "torch": "2.12.1"}, "workloads": rows}


def compare(tmp_path: Path, first: dict, second: dict) -> tuple[int, str]:
    paths = [tmp_path / "first.json", tmp_path / "second.json"]
    for path, content in zip(paths, (first, second)):
        path.write_text(json.dumps(content))
    done = subprocess.run([sys.executable, TOOL, "--compare", *paths], capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout


def changed(**fields: object) -> dict:
    return copy.deepcopy(ROW) | fields


def test_equal_measurements_are_equal(tmp_path):
    code, out = compare(tmp_path, result(matmul=ROW), result(matmul=ROW))
    assert code == 0
    assert out.endswith("1 equal\n")


def test_a_difference_names_the_request_that_makes_it(tmp_path):
    other = changed(allocated_bytes=9000, blocks={"512": 3, "1048576": 1, "8519680": 1})
    code, out = compare(tmp_path, result(matmul=ROW), result(matmul=other))
    assert code == 0
    assert "allocated_bytes: 1000 and 9000 (+8000)" in out
    assert "block of 8519680 bytes: +1 in the second" in out
    assert out.endswith("1 explained\n")


@pytest.mark.parametrize(
    ("other", "kind"),
    [
        (changed(reserved_bytes=4 << 20), "unexplained"),
        ({"status": "failed", "error": "no kernel"}, "failed"),
        (None, "missing"),
    ],
)
def test_what_nothing_explains_fails(tmp_path, other, kind):
    code, out = compare(tmp_path, result(a=ROW, b=ROW), result(a=ROW, **({"b": other} if other else {})))
    assert code == 1
    assert f"b: {kind}" in out
    assert out.endswith(f"1 equal, 1 {kind}\n")


def test_benchmark_mode_may_differ(tmp_path):
    first, second = changed(benchmark=True), changed(benchmark=True, reserved_bytes=4 << 20)
    code, out = compare(tmp_path, result(a=first), result(a=second))
    assert code == 0
    assert out.endswith("1 benchmark\n")


def test_both_failing_alike_is_equal(tmp_path):
    row = {"status": "failed", "error": "RuntimeError: not on this card"}
    assert compare(tmp_path, result(a=row), result(a=row))[0] == 0


def test_there_are_fifty_workloads_or_more(example):
    names = example("../tools/validate_on_device").script("__main__.py", "--list").split()
    assert len(names) >= 50
    assert len(set(names)) == len(names)
