"""Gates on the sources: format, lint, layers, paths. Each must fail on the bad cases in tests/project/gates."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from cuda_entries import read_platforms

from . import python_environments, tidy
from .section import ROOT, Outcome, Section, run_check, tracked


def check_format(tier: str) -> Outcome:
    return run_check(["clang-format", "--dry-run", "-Werror", *tracked("*.h", "*.cc", "*.c")])


def python_files() -> list[str]:
    """Modules, and scripts wherever they lie, which their first line tells."""
    scripts = [name for name in tracked() if "." not in Path(name).name and is_python(ROOT / name)]
    return tracked("*.py") + scripts


def is_python(path: Path) -> bool:
    with path.open("rb") as stream:
        first = stream.readline()
    return first.startswith(b"#!") and b"python" in first


def check_python(tier: str) -> Outcome:
    ruff = python_environments.tool("ruff")
    files = python_files()
    return run_check([ruff, "check", "--quiet", *files]) + run_check([ruff, "format", "--check", "--quiet", *files])


def check_types(tier: str) -> Outcome:
    """What pyproject.toml asks of mypy: above all that notes are made with the types of the contract."""
    return run_check([python_environments.tool("mypy"), "--no-incremental", "--no-error-summary"])


def run_tool(name: str) -> Outcome:
    return run_check([sys.executable, f"tools/{name}", os.fspath(ROOT)])


# A name that one of NVIDIA's libraries exports and our table lacks ends a program with "undefined symbol".
# Packages are named as that of the headers is: with the major as a suffix, or without for the newest.
CUDA = read_platforms(ROOT)["cuda"]
MAJORS = {entry["major"]: entry["headers"].removeprefix("nvidia-cuda-runtime") for entry in CUDA}
EXPORTING = [
    f"nvidia-{library}{suffix}"
    for library in ("cublas", "cusparse", "cusolver", "cufft", "curand", "cuda-runtime", "cuda-cupti", "cuda-nvrtc")
    for suffix in sorted(set(MAJORS.values()))
] + [f"nvidia-{name}-cu{major}" for name in ("cudnn", "nccl", "cusparselt", "nvshmem") for major in MAJORS]


def check_real_exports(tier: str) -> Outcome:
    """Downloads NVIDIA's newest wheels, one at a time, and compares what they export with abi/symbols."""
    total = Outcome()
    for package in [*EXPORTING, "nvidia-ml-py"]:
        with tempfile.TemporaryDirectory() as folder:
            download = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "-d", folder, package]
            total += run_check([sys.executable, *download])
            wheels = [str(wheel) for wheel in Path(folder).glob("*.whl")]
            total += run_check([sys.executable, "tools/record_abi", "--exports", "--check", *wheels])
    return total


SECTIONS = [
    Section("exports of the real libraries", check_real_exports, tiers=("all",), is_unnoticed=True),
    Section("layers", lambda tier: run_tool("check_layers")),
    Section("states of the hooks", lambda tier: run_tool("check_python_state")),
    Section("private names of libraries", lambda tier: run_tool("check_private_names")),
    Section("contract", lambda tier: run_check([sys.executable, "tools/generate_contract", "--check"])),
    Section("environment variables", lambda tier: run_tool("check_environment")),
    Section("machine paths", lambda tier: run_tool("check_paths")),
    Section("names of files", lambda tier: run_tool("check_named_files")),
    Section("tests that look at something", lambda tier: run_tool("check_tests")),
    Section("first words of comments", lambda tier: run_tool("check_first_words")),
    Section("subjects of commits", lambda tier: run_tool("check_subjects")),
    Section("format of C++", check_format),
    Section("format and lint of Python", check_python),
    Section("types of notes", check_types),
    # It runs beside the tests of Python: some of them wait for something most of the time.
    Section("clang-tidy", tidy.check_tidy, tiers=("ci", "all"), is_unnoticed=True),
]
