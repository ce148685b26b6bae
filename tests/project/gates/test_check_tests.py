"""A test that passes when what it goes through is empty fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken_trees import run_gate, write

NAMED = "CASES = {'one': 1}\n"


def look(root: Path, folder: Path, body: str) -> tuple[int, str]:
    text = NAMED + "def test_x():\n" + "".join(f"    {line}\n" for line in body.splitlines())
    done = run_gate(root, "check_tests", write(folder, {"tests/hooks/test_x.py": text}))
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    "body",
    [
        "for line in run('x.py').lines():\n    assert line",
        "for a in (1, 2):\n    for b in seen(a):\n        assert b",
        "lines = run()\nfor line in lines:\n    assert line",
        "lines = [1]\nlines = run()\nfor line in lines:\n    assert line",
        "for path in sorted(folder.glob('*')):\n    assert path",
        "for one in filter(is_new, [1]):\n    assert one",
        "for number in range(len(seen)):\n    assert number",
        "for a, b in zip([1], seen):\n    assert a == b",
        "for one in [each for each in (1, 2) if each > 2]:\n    assert one",
        "if found := find():\n    assert found",
        "if a:\n    assert b\nelse:\n    print(b)",
        "if a:\n    assert b\nelif c:\n    assert d",
        "while lines:\n    assert lines.pop()",
        "assert all(line for line in run())",
        "for one in [*seen]:\n    with pytest.raises(ValueError):\n        f(one)",
    ],
)
def test_asserts_that_may_not_be_come_to_fail(root: Path, tmp_path: Path, body: str) -> None:
    code, text = look(root, tmp_path, body)
    assert (code, text) == (
        1,
        "tests/hooks/test_x.py:2: test_x asserts only in loops over what may be empty, or in branches\n",
    )


@pytest.mark.parametrize(
    "body",
    [
        "assert run('x.py')",
        "lines = run()\nassert len(lines) == 2\nfor line in lines:\n    assert line",
        "for a in (1, 2):\n    assert a",
        "for name, value in CASES.items():\n    assert value",
        "for a, b in zip([1, 2], (3, 4)):\n    assert a < b",
        "for number in range(3):\n    assert f(number)",
        "ways = [1, 2]\nfor way in ways:\n    assert way",
        "for line in run():\n    check(line)\nwith pytest.raises(ValueError):\n    f()",
        "for number in range(3):\n    with pytest.raises(ValueError):\n        f(number)",
        "shows('x')",
        "if a:\n    assert b\nelse:\n    assert c",
        "while True:\n    assert a",
        "assert all(run(one) for one in (1, 2))",
    ],
)
def test_asserts_that_are_come_to_pass(root: Path, tmp_path: Path, body: str) -> None:
    assert look(root, tmp_path, body)[0] == 0


def test_no_tests_are_no_pass(root: Path, tmp_path: Path) -> None:
    assert run_gate(root, "check_tests", write(tmp_path, {"tests/x.py": ""})).returncode == 1
