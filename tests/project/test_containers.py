"""The files for containers and releases name what is there: no daemon runs them here."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

DOCKERFILES = ("Dockerfile", ".devcontainer/Dockerfile")
KNOWN = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "ENTRYPOINT", "CMD"}


def instructions(path: Path) -> list[tuple[str, str]]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Z]+ .*[^\\]", line) for line in lines), "an instruction a line, for this reader"
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


@pytest.mark.parametrize("name", DOCKERFILES)
def test_a_dockerfile_copies_and_runs_what_the_repository_has(root: Path, name: str) -> None:
    parts = instructions(root / name)
    assert parts[0][0] == "FROM" and {word for word, _ in parts} <= KNOWN
    for word, rest in parts:
        if word == "COPY" and not rest.startswith("--from="):
            for source in rest.split()[:-1]:
                assert (root / source).exists(), source
        for program in re.findall(r"(?:^|&& )((?:tools|packaging)/\S+)", rest) if word == "RUN" else []:
            assert os.access(root / program, os.X_OK), program
        if word in ("ENTRYPOINT", "CMD"):
            assert json.loads(rest)


def test_the_set_up_of_an_image_has_all_that_it_reads(root: Path) -> None:
    """It is copied without the rest of the clone, so that a change of the sources installs nothing again."""
    script = (root / "tools" / "set_up").read_text()
    for name in DOCKERFILES:
        (copied,) = [
            rest.split()[:-1] for word, rest in instructions(root / name) if "tools/set_up" in rest and word == "COPY"
        ]
        assert {f"tools/{read}" for read in re.findall(r'\$tools/(\w+)"', script)} < set(copied)


def test_the_dev_container_has_its_file(root: Path) -> None:
    container = json.loads((root / ".devcontainer" / "devcontainer.json").read_text())
    folder = root / ".devcontainer"
    assert (folder / container["build"]["dockerfile"]).is_file()
    assert (folder / container["build"]["context"]).resolve() == root


@pytest.fixture
def release(root: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((root / ".github" / "workflows" / "release.yml").read_text())
    return loaded


def test_a_release_runs_what_the_repository_has(root: Path, release: dict[str, Any]) -> None:
    run = [step["run"] for job in release["jobs"].values() for step in job["steps"] if "run" in step]
    programs = {word for line in run for word in line.split() if re.match(r"(\./test|tools/|packaging/)", word)}
    assert programs == {"./test", "tools/set_up", "packaging/build_wheel"}
    assert all(os.access(root / program, os.X_OK) for program in programs)


def test_a_release_waits_for_its_tests(release: dict[str, Any]) -> None:
    jobs = release["jobs"]
    assert set(jobs["release"]["needs"]) == {"wheel", "every_python", "every_python_from_sources"}
    steps = [step.get("run", step.get("uses")) for step in jobs["wheel"]["steps"]]
    tested = next(place for place, step in enumerate(steps) if "./test --only" in step)
    assert steps.index("packaging/build_wheel") < tested < steps.index("actions/upload-artifact@v4")
    for name in ("every_python", "every_python_from_sources"):
        assert "python" in jobs[name]["strategy"]["matrix"]  # which: test_platforms.py
    assert "python -m pip install ." in [step.get("run") for step in jobs["every_python_from_sources"]["steps"]]
