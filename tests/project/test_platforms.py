"""platforms.json is where releases are named: what else names them says the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def platforms(root: Path) -> dict[str, Any]:
    known: dict[str, Any] = json.loads((root / "platforms.json").read_text(encoding="utf-8"))
    return known


def line(version: str) -> str:
    return ".".join(version.split(".")[:2])


def test_the_readme_names_the_releases_that_are_tested(root: Path, platforms: dict[str, Any]) -> None:
    readme = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    releases = platforms["torch"]
    throughout = [f"{release['version']} (CUDA {release['cuda']})" for release in releases if is_throughout(release)]
    assert f"torch {' and '.join(throughout)} are tested throughout" in readme
    assert f"{line(releases[-1]['version'])} to {line(releases[0]['version'])} are tested to start and train" in readme


def is_throughout(release: dict[str, Any]) -> bool:
    return bool(release["tested"] == "throughout")


def test_each_release_that_is_tested_throughout_has_its_requirements(root: Path, platforms: dict[str, Any]) -> None:
    for release in filter(is_throughout, platforms["torch"]):
        requirements = root / "tests" / "requirements" / f"torch-{line(release['version'])}.txt"
        assert f"torch=={release['version']}" in requirements.read_text(encoding="utf-8")


def test_the_recorder_reads_frames_of_the_pythons_that_are_named(root: Path, platforms: dict[str, Any]) -> None:
    layouts = (root / "recorder" / "python_layout.h").read_text(encoding="utf-8")
    minors = re.findall(r"^    \{(\d+), ", layouts, re.MULTILINE)
    assert [int(minor) for minor in minors] == platforms["python_with_lines"]


def test_the_oracle_asks_the_cudnn_that_is_named(root: Path, platforms: dict[str, Any]) -> None:
    backend = (root / "virtual_gpu" / "cudnn_oracle" / "backend.h").read_text(encoding="utf-8")
    major, minor, patch = map(int, platforms["cudnn"]["asked_from"].split("."))
    assert f"kFirstDevicelessVersion = {major * 10000 + minor * 100 + patch};" in backend


def test_each_cuda_that_is_named_has_its_tables_of_symbols(root: Path, platforms: dict[str, Any]) -> None:
    majors = {int(path.name.split(".cu")[1].split(".")[0]) for path in (root / "abi" / "symbols").glob("*.cu*.txt")}
    assert sorted(majors) == platforms["cuda_majors"]
