"""What building vramfit from nothing costs: processor seconds, and the folders and files that take most of them.

    python bench/build_time.py [--jobs 2] [--preset release] [--most 12] [--commit COMMIT]

Builds a commit (HEAD) in a folder of its own that goes afterwards, without ccache, each compiler under a clock. Seconds
of the clock mean something on a machine left alone only; other work raises those of the processor too, by a third or
so. Then one file of the doctor is changed and built as a developer does, and the program linked: what a change costs.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHANGED = "src/doctor/causes/fragmentation.cc"
CLOCK = """#!/bin/sh
exec {python} {clock} {log} "$@"
"""
TIMED = """import os, resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
source = next((w for w in sys.argv[2:] if w.endswith((".cc", ".cxx", ".c"))), "")
line = f"{used.ru_utime + used.ru_stime:.3f} {source}\\n"
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(descriptor, line.encode())
sys.exit(code)
"""


@dataclasses.dataclass
class Cost:
    """Seconds: of the processor in programs and in the system, and of the clock."""

    user: float
    system: float
    clock: float

    @property
    def processor(self) -> float:
        return self.user + self.system


def build(tree: Path, preset: str, jobs: int, targets: list[str]) -> Cost:
    environment = os.environ | {"CCACHE_DISABLE": "1"}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        ["ninja", "-C", f"build/{preset}", f"-j{jobs}", *targets],
        cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    clock = time.monotonic() - began
    return Cost(after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, clock)


def row_of(commit: str, jobs: int, whole: Cost, change: Cost, link: Cost) -> str:
    """The table's row in docs/build.md."""
    return (
        f"| {commit} | {whole.user:.0f} s user, {whole.system:.0f} s system | {whole.clock:.0f} s on {jobs} cores "
        f"| {change.clock + link.clock:.1f} s |"
    )


def read_log(log: Path, tree: Path) -> list[tuple[float, str]]:
    rows = []
    for line in log.read_text().splitlines():
        seconds, _, source = line.partition(" ")
        rows.append((float(seconds), source.replace(f"{tree}/", "")))
    return rows


def folder_of(source: str) -> str:
    parts = source.split("/")
    if "Unity" in parts:  # a batch: build/release/src/CMakeFiles/vramfit_doctor.dir/Unity/unity_0_cxx.cxx
        return parts[parts.index("Unity") - 1].removesuffix(".dir")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--preset", default="release")
    parser.add_argument("--most", type=int, default=12, help="folders and files to show")
    parser.add_argument("--commit", default="HEAD")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree, log = Path(folder, "tree"), Path(folder, "log")
        subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), str(tree)], check=True)
        subprocess.run(["git", "checkout", "-q", "--detach", options.commit], cwd=tree, check=True)
        clock, timed = Path(folder, "clock"), Path(folder, "timed.py")
        timed.write_text(TIMED)
        clock.write_text(CLOCK.format(python=sys.executable, clock=timed, log=log))
        clock.chmod(0o755)
        launcher = [f"-DCMAKE_{language}_COMPILER_LAUNCHER={clock}" for language in ("C", "CXX")]
        off = ["-DVRAMFIT_CCACHE="]  # rooms name it as their launcher otherwise
        subprocess.run(
            ["cmake", "--preset", options.preset, *launcher, *off], cwd=tree, check=True, stdout=subprocess.DEVNULL
        )
        named = ["git", "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(named, cwd=tree, check=True, capture_output=True, text=True).stdout.strip()
        whole = build(tree, options.preset, options.jobs, [])
        print(f"whole build   {whole.processor:7.0f} s of the processor, {whole.clock:.0f} s on {options.jobs} cores")
        rows = read_log(log, tree)
        folders: collections.Counter[str] = collections.Counter()
        for seconds, source in rows:
            folders[folder_of(source)] += seconds
        for name, seconds in folders.most_common(options.most):
            print(f"  {seconds:7.1f} s  {name}")
        print("most of one file")
        for seconds, source in sorted(rows, reverse=True)[: options.most]:
            print(f"  {seconds:7.1f} s  {source}")
        program = tree / "build" / options.preset / "stage" / "bin" / "vramfit"
        program.unlink()
        link = build(tree, options.preset, options.jobs, ["vramfit"])
        # As a developer's build does it, file by file. The program was linked before: its own build is of batches,
        # and would compile the whole batch of the changed file here.
        subprocess.run(["cmake", "--preset", "dev", *launcher, *off], cwd=tree, check=True, stdout=subprocess.DEVNULL)
        target = f"src/CMakeFiles/vramfit_doctor.dir/{CHANGED.removeprefix('src/')}.o"
        build(tree, "dev", options.jobs, [target])
        with Path(tree, CHANGED).open("a", encoding="utf-8") as changed:
            changed.write("// changed\n")
        change = build(tree, "dev", options.jobs, [target])
        print(f"one file      {change.processor:7.1f} s of the processor, {change.clock:.1f} s: {CHANGED}")
        print(f"linking       {link.processor:7.1f} s of the processor, {link.clock:.1f} s")
        print(row_of(commit, options.jobs, whole, change, link))
    return 0


if __name__ == "__main__":
    sys.exit(main())
