"""clang-tidy: in CI over what changed since all was looked at, in --all over everything.

`linted` beside this file holds digests of the files in which --all found nothing, of the rules it asked them under, and
of the options of the compiler: --all writes it itself. What was compiled from a file that differs from those, a header
among them, is looked at again; where rules or options differ, everything is. It names no commit: a clone without the
history, or one whose history was written anew, is told the same.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import python_environments
from .building import count_jobs
from .section import ROOT, Outcome, run_check, tracked

BUILD = ROOT / "build" / "dev"
LINTED = Path(__file__).with_name("linted")
# What is said of files hangs on these too.
RULES = (
    "*.clang-tidy",
    "tests/requirements/tools.txt",
    "tools/suite/tidy.py",
)
# These say how all files are compiled, and much else: whether that has changed, their options tell. The CMake list of
# another folder says how its own files are compiled: those are looked at again when it changes.
BUILD_RULES = ("CMakeLists.txt", "src/CMakeLists.txt", "cmake/*", "CMakePresets.json")
# What is compiled, and what the build makes headers of. Tests are not looked at.
MADE_FROM = ("src/*", "abi/*", "tools/*", "python/*", "platforms.json")
COMPILED = ("*.h", "*.cc", "*.c", "*CMakeLists.txt", *BUILD_RULES, *MADE_FROM)


def without_precompiled(command: str) -> str:
    """g++'s precompiled headers, which tests and what they share are compiled with, are nothing to clang."""
    return re.sub(r" -Winvalid-pch| -include \S*cmake_pch\.hxx", "", command)


def files_of(compiled: str) -> list[str]:
    """What a command compiles: one file, or a batch of them, which CMake's own file includes one after the other."""
    if "/Unity/" not in compiled:
        return [compiled]
    return re.findall(r'^#include "(.+)"$', Path(compiled).read_text(), re.MULTILINE)


def output_of(command: str) -> str:
    words = command.split()
    return words[words.index("-o") + 1]


def write_database(folder: Path, in_batches: bool, of: Callable[[str], bool]) -> list[str]:
    """A compilation database of our sources without their tests, of those objects only; the files in it.

    A stand-in is compiled once per CUDA major version, and clang-tidy reads a file once per command it finds for it:
    one of them is enough here. In batches, it reads the headers of 24 files once: a fifth of the time, for a
    using-declaration that only another file of the batch uses.
    """
    ours = {str(ROOT / name) for name in tracked("src/*.cc", "recorder/*.cc", "virtual_gpu/*.cc")}
    entries: dict[str, dict[str, str]] = {}
    seen: set[str] = set()
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        command = without_precompiled(entry["command"])
        own = {file for file in files_of(entry["file"]) if file in ours and not file.endswith("_test.cc")}
        for file in [entry["file"]] if in_batches else own:
            if own - seen and of(output_of(entry["command"])):
                entries[file] = entry | {"file": file, "command": command.replace(entry["file"], file)}
        seen |= own
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(list(entries.values())))
    return sorted(entries)


def digest_of(name: str) -> str:
    """A file's name and content. 40 bits: one of 2,000 files is taken for another once in 500 million changes."""
    return hashlib.sha256(name.encode() + b"\0" + (ROOT / name).read_bytes()).hexdigest()[:10]


def digest_of_all(patterns: tuple[str, ...]) -> str:
    digests = [digest_of(name) for name in tracked(*patterns)]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def list_compiled() -> list[str]:
    return [name for name in tracked(*COMPILED) if not name.endswith("_test.cc") and ROOT / name != LINTED]


def digest_of_options() -> str:
    """A digest of all sets of options that something of ours is compiled with, wherever this tree and its caches
    are."""
    sets = set()
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        command = without_precompiled(entry["command"])
        own = {entry["file"], output_of(entry["command"])}
        words = [word for word in command.split() if word not in own]
        sets.add(" ".join(words).replace(str(ROOT), "ROOT").replace(str(Path.home()), "HOME"))
    return hashlib.sha256("\n".join(sorted(sets)).encode()).hexdigest()


def find_changed() -> tuple[set[Path] | None, str]:
    """Files that differ from when all were looked at, and how many. None: that tells nothing, and why."""
    kept = LINTED.read_text().split() if LINTED.exists() else []
    if len(kept) < 4:
        return None, f"{LINTED.name} tells nothing"
    rules, build_rules, options, *files = kept
    if rules != digest_of_all(RULES):
        return None, f"other rules than those of {LINTED.name}: {', '.join(RULES)}"
    if build_rules != digest_of_all(BUILD_RULES) and options != digest_of_options():
        return None, f"other options of the compiler than those of {LINTED.name}"
    known = set(files)
    changed = {ROOT / name for name in list_compiled() if digest_of(name) not in known}
    return changed, f"{len(changed)} files differ from those of {LINTED.name}"


def digest_what_is_looked_at() -> list[str]:
    files = sorted({digest_of(name) for name in list_compiled()})
    return [digest_of_all(RULES), digest_of_all(BUILD_RULES), digest_of_options(), *files]


def keep_linted(digests: list[str]) -> str:
    """Called once nothing was found in any file, with the digests of before: who edits meanwhile changes nothing of
    what was looked at. Returns what is said of it."""
    LINTED.write_text("\n".join(digests) + "\n")
    return f"nothing was found: {LINTED.name} holds what was looked at, and wants to be committed"


def read_dependencies() -> dict[str, set[Path]]:
    """What each object was compiled from, as the compiler told ninja."""
    listed = subprocess.run(["ninja", "-C", BUILD, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    found: dict[str, set[Path]] = {}
    for block in listed.split("\n\n"):
        head, *lines = block.strip().splitlines() or [""]
        found[head.partition(":")[0]] = {(BUILD / line.strip()).resolve() for line in lines}
    return found


def read_set_up() -> set[Path]:
    """What the build is set up from, as CMake told ninja; headers that it generates are made of some of these."""
    asked = ["ninja", "-C", BUILD, "-t", "query", "build.ninja"]
    listed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    inputs = listed.partition("  input:")[2].partition("  outputs:")[0]
    return {(BUILD / line.strip(" |")).resolve() for line in inputs.splitlines()}


def choose_objects(changed: set[Path] | None) -> Callable[[str], bool]:
    if changed is None:
        return lambda _object: True
    dependencies = read_dependencies()
    # git sees no header that the build makes: a change of what it is made from is one of the header. Below src lie
    # lists of sources, and data that are copied as they are; lists of CMake in other folders make none (cmake/ does).
    made_from = {path for path in changed & read_set_up() if path.name != "CMakeLists.txt"}
    if any(not path.is_relative_to(ROOT / "src") for path in made_from):
        changed = changed | {file for files in dependencies.values() for file in files if file.is_relative_to(BUILD)}
    folders = {path.parent for path in changed if path.name == "CMakeLists.txt" and path.parent != ROOT}

    def is_wanted(name: str) -> bool:
        if name not in dependencies:  # an object that ninja knows nothing of was not built from what is here
            return True
        files = dependencies[name]
        of_folder = any(file.suffix in (".cc", ".c") and not folders.isdisjoint(file.parents) for file in files)
        return of_folder or not changed.isdisjoint(files)

    return is_wanted


def check_tidy(tier: str) -> Outcome:
    """Runs the cheap checks of .clang-tidy over our sources; tests are left out."""
    program = python_environments.tool("clang-tidy")
    database = BUILD / "tidy"
    changed, since = (None, "all") if tier == "all" else find_changed()
    files = write_database(database, in_batches=tier != "all", of=choose_objects(changed))
    digests = digest_what_is_looked_at()

    def tidy(some: list[str]) -> Outcome:
        return run_check([program, "--quiet", "-p", str(database), *some])

    with ThreadPoolExecutor(count_jobs()) as pool:
        results = list(pool.map(tidy, [[file] for file in files]))
    total = Outcome(passed=1) if not any(result.failed for result in results) else Outcome(failed=1)
    total.details = [line for result in results for line in result.details]
    if tier != "all":
        total.details.append(f"{len(files)} compilations: {since}")
    elif not total.failed:
        total.details.append(keep_linted(digests))
    total.processor_seconds = sum(result.processor_seconds for result in results)
    return total
