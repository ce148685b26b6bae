"""`--time-box` of the Python tests, with real pytest over a folder of made-up ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
from time_box import TimeBox

def pytest_addoption(parser):
    parser.addoption("--time-box", type=float)

def pytest_configure(config):
    if config.option.time_box is not None:
        config.pluginmanager.register(TimeBox(config.option.time_box))
"""
TESTS = """
import time
import pytest
@pytest.mark.parametrize("number", range(3))
def test_of_{name}(number):
    time.sleep({seconds} if number == 1 else 0)
    assert {holds}
"""


@pytest.fixture
def run(root: Path, tmp_path: Path):
    shutil.copy(root / "tests" / "time_box.py", tmp_path)
    (tmp_path / "conftest.py").write_text(CONFTEST)

    def run_them(*words: str, seconds: float = 0, holds: str = "True") -> subprocess.CompletedProcess[str]:
        for name in ("one", "two"):
            text = TESTS.format(name=name, seconds=seconds, holds=holds)
            (tmp_path / f"test_{name}.py").write_text(text)
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *words]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run_them


def test_of_every_file_some_are_run_before_the_time_is_up(run) -> None:
    done = run("--time-box=4", seconds=5)
    assert done.returncode == 0, done.stdout
    assert "test_one.py::test_of_one[0] PASSED" in done.stdout
    assert "test_two.py::test_of_two[0] PASSED" in done.stdout
    assert "3 passed" in done.stdout
    assert "the time was up: 3 tests were left out" in done.stdout


def test_all_are_run_where_there_is_time(run) -> None:
    done = run("--time-box=60")
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout
    assert "left out" not in done.stdout


def test_a_test_that_fails_fails(run) -> None:
    done = run("--time-box=60", holds="number != 1")
    assert done.returncode == 1
    assert "2 failed, 4 passed" in done.stdout


def test_it_stops_where_it_is_told_to(run) -> None:
    done = run("--time-box=60", "-x", holds="number != 0")
    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert "stopping after 1 failures" in done.stdout


def test_a_file_that_can_not_be_read_is_an_error(run, tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text("import nothing_of_this_name\n")
    done = run("--time-box=60")
    assert done.returncode == 2, done.stdout
    assert "1 error" in done.stdout
