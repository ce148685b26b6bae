"""Gates on the sources: format, lint, layers, paths. Each has a known-bad case in tests/project that it must fail."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import python_environments
from .building import count_jobs
from .section import ROOT, Outcome, Section, run_check


def tracked(*patterns: str) -> list[str]:
    """Files git knows or would add, so that a new file is checked before it is committed."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return sorted({name for name in names if (ROOT / name).is_file()})


def check_format(tier: str) -> Outcome:
    return run_check(["clang-format", "--dry-run", "-Werror", *tracked("*.h", "*.cc", "*.c")])


def python_files() -> list[str]:
    scripts = [name for name in tracked("tools/*") if "." not in Path(name).name and is_python(ROOT / name)]
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


def without_precompiled(command: str) -> str:
    """g++'s precompiled headers, which tests and what they share are compiled with, are nothing to clang."""
    return re.sub(r" -Winvalid-pch| -include \S*cmake_pch\.hxx", "", command)


def files_of(compiled: str) -> list[str]:
    """What a command compiles: one file, or a batch of them, which CMake's own file includes one after the other."""
    if "/Unity/" not in compiled:
        return [compiled]
    return re.findall(r'^#include "(.+)"$', Path(compiled).read_text(), re.MULTILINE)


def write_database(folder: Path, in_batches: bool) -> list[str]:
    """A compilation database of our sources without their tests; the files in it.

    A stand-in is compiled once per CUDA major version, and clang-tidy reads a file once per command it finds for it:
    one of them is enough here. In batches, it reads the headers of a dozen files once: a fifth of the time, for a
    using-declaration that only another file of the batch uses.
    """
    ours = {str(ROOT / name) for name in tracked("src/*.cc", "recorder/*.cc", "virtual_gpu/*.cc")}
    entries: dict[str, dict[str, str]] = {}
    seen: set[str] = set()
    for entry in json.loads((ROOT / "build" / "dev" / "compile_commands.json").read_text()):
        command = without_precompiled(entry["command"])
        own = {file for file in files_of(entry["file"]) if file in ours and not file.endswith("_test.cc")}
        for file in [entry["file"]] if in_batches else own:
            if own - seen:
                entries[file] = entry | {"file": file, "command": command.replace(entry["file"], file)}
        seen |= own
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(list(entries.values())))
    return sorted(entries)


def check_tidy(tier: str) -> Outcome:
    """clang-tidy with the cheap checks of .clang-tidy over our sources; tests are left out."""
    program = python_environments.tool("clang-tidy")
    database = ROOT / "build" / "dev" / "tidy"
    files = write_database(database, in_batches=tier != "all")

    def tidy(some: list[str]) -> Outcome:
        return run_check([program, "--quiet", "-p", str(database), *some])

    with ThreadPoolExecutor(count_jobs()) as pool:
        results = list(pool.map(tidy, [[file] for file in files]))
    total = Outcome(passed=1) if not any(result.failed for result in results) else Outcome(failed=1)
    total.details = [line for result in results for line in result.details]
    return total


def run_tool(name: str) -> Outcome:
    return run_check([sys.executable, f"tools/{name}", os.fspath(ROOT)])


# A name that one of NVIDIA's libraries exports and our table lacks ends a program with "undefined symbol".
EXPORTING = [
    f"nvidia-{name}"
    for library in ("cublas", "cusparse", "cusolver", "cufft", "curand", "cuda-runtime", "cuda-cupti", "cuda-nvrtc")
    for name in (library, f"{library}-cu12")
] + [f"nvidia-{name}-cu{major}" for name in ("cudnn", "nccl", "cusparselt", "nvshmem") for major in (12, 13)]


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
    Section("machine paths", lambda tier: run_tool("check_paths")),
    Section("format of C++", check_format),
    Section("format and lint of Python", check_python),
    Section("types of notes", check_types),
    # Beside the tests of Python: some of them wait for something most of the time.
    Section("clang-tidy", check_tidy, tiers=("ci", "all"), is_unnoticed=True),
]
