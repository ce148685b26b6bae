"""platforms.json is where releases are named: what else names them says the same."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from product import STAGE
from pythons import find_python, known_minors


@pytest.fixture(scope="module")
def platforms(root: Path) -> dict[str, Any]:
    known: dict[str, Any] = json.loads((root / "platforms.json").read_text(encoding="utf-8"))
    return known


def line(version: str) -> str:
    return ".".join(version.split(".")[:2])


def and_last(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def in_words(lines: list[str]) -> str:
    """Rising, and none of those between that are not among them: 2.8, 2.9 and 2.11 to 2.15."""
    runs: list[list[str]] = []
    for each in sorted(lines, key=lambda text: [int(part) for part in text.split(".")]):
        first, minor = each.split(".")
        if runs and runs[-1][-1] == f"{first}.{int(minor) - 1}":
            runs[-1].append(each)
        else:
            runs.append([each])
    return and_last([word for run in runs for word in ([f"{run[0]} to {run[-1]}"] if run[2:] else run)])


def test_releases_that_are_left_out_are_not_in_the_words() -> None:
    assert in_words(["2.9"]) == "2.9"
    assert in_words(["2.15", "2.14", "2.13", "2.11", "2.9", "2.8"]) == "2.8, 2.9, 2.11 and 2.13 to 2.15"
    assert in_words(["3.0", "2.15"]) == "2.15 and 3.0"


def test_the_readme_names_the_releases_that_are_tested_and_no_others(root: Path, platforms: dict[str, Any]) -> None:
    readme = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    releases = platforms["torch"]
    throughout = [f"{release['version']} (CUDA {release['cuda']})" for release in releases if is_throughout(release)]
    lines = in_words([line(release["version"]) for release in releases])
    assert f"torch {' and '.join(throughout)} are tested throughout; {lines} are tested to start and train." in readme
    majors = and_last([str(entry["major"]) for entry in platforms["cuda"]])
    assert f"a torch for another CUDA than {majors} is refused on virtual cards." in readme
    named = {line(version) for version in re.findall(r"\btorch (\d+\.\d+(?:\.\d+)?)", readme)}
    assert named <= {line(release["version"]) for release in releases}


def test_the_tables_of_symbols_say_which_releases_they_are_of(root: Path, platforms: dict[str, Any]) -> None:
    text = " ".join((root / "abi" / "README.md").read_text(encoding="utf-8").split())
    oldest, newest = platforms["torch"][-1]["version"], platforms["torch"][0]["version"]
    assert f"what torch {oldest} to {newest}, torchvision and Triton import" in text


def is_throughout(release: dict[str, Any]) -> bool:
    return bool(release["tested"] == "throughout")


def test_each_release_that_is_tested_throughout_has_its_requirements(root: Path, platforms: dict[str, Any]) -> None:
    throughout = [release for release in platforms["torch"] if is_throughout(release)]
    assert throughout
    for release in throughout:
        requirements = root / "tests" / "requirements" / f"torch-{line(release['version'])}.txt"
        assert f"torch=={release['version']}" in requirements.read_text(encoding="utf-8")


SECTIONS = """
import sys
sys.path.insert(0, "tools")
from suite import python_tests
print(*(section.name for section in python_tests.SECTIONS if "ci" in section.tiers), sep="\\n")
"""


def test_a_release_that_is_to_be_tested_throughout_has_its_suites(
    root: Path, tmp_path: Path, platforms: dict[str, Any]
) -> None:
    newest = next(release for release in platforms["torch"] if is_throughout(release))
    others = [line(release["version"]) for release in platforms["torch"] if is_throughout(release)]
    shutil.copytree(root / "tools" / "suite", tmp_path / "tools" / "suite")
    of_tomorrow = newest | {"version": "9.8.1"}
    rows = {"torch": [of_tomorrow, *platforms["torch"]]}
    (tmp_path / "platforms.json").write_text(json.dumps(rows))
    done = subprocess.run([sys.executable, "-c", SECTIONS], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {"command line on torch 9.8", "torch 9.8"} <= set(done.stdout.splitlines())
    assert {f"hooks on torch {each}" for each in ["9.8", *others]} <= set(done.stdout.splitlines())


def test_the_recorder_knows_the_layouts_that_are_named(root: Path, platforms: dict[str, Any]) -> None:
    layouts = (root / "recorder" / "python_layout.h").read_text(encoding="utf-8")
    minors = [int(minor) for minor in re.findall(r"^    \{(\d+), ", layouts, re.MULTILINE)]
    assert minors == platforms["python_layouts"]
    assert minors[-1] + 1 == platforms["python_tells_its_layout_from"]
    assert f"kFirstToTell = {minors[-1] + 1};" in layouts


def test_hooks_and_recorder_say_the_same_of_pythons_objects(root: Path) -> None:
    header = (root / "recorder" / "python_layout.h").read_text(encoding="utf-8")
    told = dict(re.findall(r"^inline constexpr \w+ (k\w+) = (\d+);", header, re.MULTILINE))
    read = "from vramfit.private import python_layout as layout; print(layout.HEAD, layout.MARKS)"
    done = subprocess.run([sys.executable, "-c", read], cwd=root / "python", capture_output=True, text=True, check=True)
    assert done.stdout.split() == [told["kObjectHead"], told["kReferenceMarks"]]


HOOKS_FIND = """
import itertools, sys
sys.path.insert(0, sys.argv[1])
from vramfit.private import names, python_layout as layout
print([gone.name for gone in names.find_gone(layout)], layout.find_first_local() is not None)
counted = itertools.count(7)
layout.put_number_in(counted, 41)
def f():
    number = 1
    layout.put_local(sys._getframe(), "number", 2)
    return number
class Indexed:
    def __getitem__(self, index):
        return index
layout.empty_sequence(Indexed)
print(next(counted), f(), layout.number_in(counted), layout._slots_filled(Indexed), Indexed()[3])
"""


@pytest.mark.parametrize("minor", known_minors())
def test_the_hooks_find_what_they_need_of_every_python_that_is_here(root: Path, minor: int) -> None:
    python = find_python(minor)
    if python is None:
        pytest.skip(f"this machine has no Python 3.{minor}")
    done = subprocess.run([python, "-c", HOOKS_FIND, root / "python"], capture_output=True, text=True)
    assert done.stdout == "[] True\n41 2 42 [False, False] 3\n", done.stderr


FINDS_LINES = """
import ctypes, sys
recorder = ctypes.PyDLL(sys.argv[1])
class Nüsse:
    def fünf(self):
        return recorder.vramfit_finds_lines()
print(Nüsse().fünf())
"""


@pytest.mark.parametrize("minor", known_minors())
def test_the_recorder_reads_the_frames_of_every_python_that_is_here(minor: int) -> None:
    """It compares the line, the file and the function that it reads with what the interpreter says of them."""
    python = find_python(minor)
    if python is None:
        pytest.skip(f"this machine has no Python 3.{minor}")
    recorder = STAGE / "lib" / "libvramfit_recorder.so"
    done = subprocess.run([python, "-c", FINDS_LINES, recorder], capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr


def test_the_oracle_asks_the_cudnn_that_is_named(root: Path, platforms: dict[str, Any]) -> None:
    backend = (root / "virtual_gpu" / "cudnn_oracle" / "backend.h").read_text(encoding="utf-8")
    major, minor, patch = map(int, platforms["cudnn"]["asked_from"].split("."))
    assert f"kFirstDevicelessVersion = {major * 10000 + minor * 100 + patch};" in backend


def test_each_cuda_that_is_named_has_its_tables_of_symbols(root: Path, platforms: dict[str, Any]) -> None:
    majors = {int(path.name.split(".cu")[1].split(".")[0]) for path in (root / "abi" / "symbols").glob("*.cu*.txt")}
    assert sorted(majors) == [entry["major"] for entry in platforms["cuda"]]


def test_the_release_tries_every_python_that_some_torch_has_a_wheel_for(root: Path, platforms: dict[str, Any]) -> None:
    text = (root / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    of_the_wheel, of_the_sources = re.findall(r"^ +python: (\[.*\])$", text, re.MULTILINE)
    ranges = [entry["python"] for entry in platforms["torch"]]
    first, last = min(low for low, _ in ranges), max(high for _, high in ranges)
    assert json.loads(of_the_wheel) == [f"3.{minor}" for minor in range(first, last + 1)]
    assert of_the_sources == of_the_wheel
