"""The test runner's second try, on the suite's own code in a small tree with real pytest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHANCE = """
from pathlib import Path
import pytest
@pytest.mark.parametrize("seen", ["seen"])
def test_chance(seen):
    before = Path(__file__).with_name(seen)
    if not before.exists():
        before.touch()
        assert False
"""
CHANCE_OF_CPP = """
#include <gtest/gtest.h>
#include <filesystem>
TEST(Small, HasAChance) {
  const std::filesystem::path before = "seen";
  const bool was_there = !std::filesystem::create_directory(before);
  EXPECT_TRUE(was_there);
}
TEST(Small, IsGood) {}
TEST(Small, IsFaulty) { EXPECT_EQ(std::getenv("FAULTY"), nullptr); }
"""
# Its cases pass and are written down; what finds a leak at the end then ends it with a code of its own.
LEAK_OF_CPP = """
#include <gtest/gtest.h>
#include <unistd.h>
struct AtTheEnd { ~AtTheEnd() { _exit(23); } } at_the_end;
TEST(Leaking, IsGood) {}
"""
FAULT = "def test_fault(): assert 1 == 2\n"
GOOD = "def test_good(): pass\n"
PROBE = """
import json, sys
sys.path.insert(0, "tools")
from suite import python_environments, python_tests
from suite.second_try import try_again
python_environments.python = lambda name: sys.executable
section = python_tests.suite("small", "tools", "tests/small")
(outcome,) = try_again([section], [section.run("ci")])
print(json.dumps([outcome.passed, outcome.failed, outcome.failed_tests, outcome.unsteady_tests]))
"""

PROBE_OF_CPP = """
import json, sys
sys.path.insert(0, "tools")
from suite import building
from suite.section import Section
from suite.second_try import try_again
section = Section(
    "unit tests",
    lambda tier: building.run_unit_tests("small"),
    run_again=lambda tests: building.run_unit_tests_again("small", tests),
)
(outcome,) = try_again([section], [section.run("ci")])
print(json.dumps([outcome.passed, outcome.failed, outcome.failed_tests, outcome.unsteady_tests]))
"""


def outcome_of(root: Path, tree: Path, files: dict[str, str]) -> list[Any]:
    shutil.copytree(root / "tools" / "suite", tree / "tools" / "suite")
    shutil.copy(root / "platforms.json", tree)
    folder = tree / "tests" / "small"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    done = subprocess.run([sys.executable, "-c", PROBE], cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_what_passes_alone_is_named_unsteady(root: Path, tmp_path: Path) -> None:
    outcome = outcome_of(root, tmp_path, {"test_chance.py": CHANCE, "test_good.py": GOOD})
    assert outcome == [2, 0, [], ["tests/small/test_chance.py::test_chance[seen]"]]


def test_what_fails_again_has_failed(root: Path, tmp_path: Path) -> None:
    outcome = outcome_of(root, tmp_path, {"test_chance.py": CHANCE, "test_fault.py": FAULT})
    assert outcome[:3] == [1, 1, ["tests/small/test_fault.py::test_fault"]]


def test_many_failures_are_no_chance(root: Path, tmp_path: Path) -> None:
    files = {f"test_fault_{number}.py": FAULT for number in range(3)} | {"test_chance.py": CHANCE}
    passed, failed, _, unsteady = outcome_of(root, tmp_path, files)
    assert (passed, failed, unsteady) == (0, 4, [])


def test_a_file_that_can_not_be_imported_is_a_failure(root: Path, tmp_path: Path) -> None:
    passed, failed, _, unsteady = outcome_of(root, tmp_path, {"test_bad.py": "import nowhere\n", "test_good.py": GOOD})
    assert (failed, unsteady) == (2, [])  # the file, and that pytest gave up there


@pytest.mark.parametrize("end", ["raise KeyboardInterrupt", "pytest.exit('enough', 3)"])
def test_what_an_interrupted_suite_left_out_is_not_made_up_for(root: Path, tmp_path: Path, end: str) -> None:
    ended = f"import pytest\ndef test_end(): {end}\n"
    files = {"test_a_chance.py": CHANCE, "test_b_end.py": ended, "test_c_fault.py": FAULT}
    passed, failed, _, unsteady = outcome_of(root, tmp_path, files)
    assert (failed, unsteady) == (2, [])


def test_a_suite_of_which_no_test_ran_is_no_good_one(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--collect-only")  # somebody's own: nothing to the suites
    assert outcome_of(root, tmp_path / "good", {"test_good.py": GOOD})[:2] == [1, 0]
    assert outcome_of(root, tmp_path / "empty", {"conftest.py": "collect_ignore_glob = ['*']\n"})[1] == 1
    only = "def pytest_cmdline_main(config):\n    return 0\n"
    assert outcome_of(root, tmp_path / "quiet", {"conftest.py": only, "test_good.py": GOOD})[1] == 1


def compile_tests(build: Path, sources: dict[str, str]) -> None:
    build.mkdir(parents=True)
    for name, source in sources.items():
        (build / f"{name}.cc").write_text(source)
        compiled = ["g++", "-std=c++20", f"{name}.cc", "-o", f"{name}_test", "-lgtest", "-lgtest_main"]
        subprocess.run(compiled, cwd=build, check=True)
    tests = "".join(f'add_test({name}_test "{build}/{name}_test")\n' for name in sources)
    (build / "CTestTestfile.cmake").write_text(tests)


def test_a_program_that_fails_behind_its_cases_is_not_lost_beside_one_that_has_a_chance(
    root: Path, tmp_path: Path
) -> None:
    shutil.copytree(root / "tools" / "suite", tmp_path / "tools" / "suite")
    compile_tests(tmp_path / "build" / "small", {"small": CHANCE_OF_CPP, "leaking": LEAK_OF_CPP})
    done = subprocess.run([sys.executable, "-c", PROBE_OF_CPP], cwd=tmp_path, capture_output=True, text=True)
    passed, failed, _, unsteady = json.loads(done.stdout.splitlines()[-1])
    assert (passed, failed, unsteady) == (3, 2, []), done.stdout + done.stderr


@pytest.mark.parametrize("is_faulty", [False, True])
def test_a_unit_test_of_cpp_is_run_again_too(root: Path, tmp_path: Path, is_faulty: bool) -> None:
    shutil.copytree(root / "tools" / "suite", tmp_path / "tools" / "suite")
    compile_tests(tmp_path / "build" / "small", {"small": CHANCE_OF_CPP})
    variables = dict(os.environ, **({"FAULTY": "1"} if is_faulty else {}))
    done = subprocess.run(
        [sys.executable, "-c", PROBE_OF_CPP], cwd=tmp_path, env=variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    faulty = ["small_test: Small.IsFaulty"] if is_faulty else []
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome == [3 - len(faulty), len(faulty), faulty, ["small_test: Small.HasAChance"]]
