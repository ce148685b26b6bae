"""The Python environments the tests need, kept outside the repository and made on first use.

    <cache>/tests/tools        pytest, ruff and a JSON schema validator: no torch
    <cache>/tests/torch-2.12   torch's CUDA build and the libraries that tests/requirements/torch-2.12.txt names

A requirements file that begins with `# on: torch-2.12` is installed on top of that environment, whose packages it sees.

VRAMFIT_TEST_PYTHON_<name> (dots and dashes as underscores) names an interpreter to use instead of making one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .section import ROOT

REQUIREMENTS = ROOT / "tests" / "requirements"


def cache() -> Path:
    if os.environ.get("VRAMFIT_CACHE"):
        return Path(os.environ["VRAMFIT_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vramfit"


@contextmanager
def making(name: str) -> Iterator[None]:
    """One of the sections and processes that want `name` at once makes it, and the others wait."""
    folder = cache() / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def python(name: str) -> Path:
    """The interpreter of environment `name`, made or renewed when its requirements changed."""
    chosen = os.environ.get("VRAMFIT_TEST_PYTHON_" + re.sub(r"[^A-Za-z0-9]", "_", name))
    if chosen:
        return Path(chosen)
    requirements = REQUIREMENTS / f"{name}.txt"
    below = below_of(requirements)
    if below is not None:
        python(below)
    wanted = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
    folder = cache() / "tests" / name
    stamp = folder / "requirements.sha256"
    with making(name):
        if not stamp.exists() or stamp.read_text() != wanted:
            make(folder, requirements)
            stamp.write_text(wanted)
    return folder / "bin" / "python"


def below_of(requirements: Path) -> str | None:
    """The environment that this one is on top of."""
    first = requirements.read_text().partition("\n")[0]
    return first.removeprefix("# on: ").strip() if first.startswith("# on: ") else None


def show_packages_of(below: str, folder: Path) -> None:
    """A .pth file puts the packages of another environment behind this one's own."""
    (theirs,) = (cache() / "tests" / below / "lib").glob("python3.*/site-packages")
    (own,) = (folder / "lib").glob("python3.*/site-packages")
    (own / "below.pth").write_text(f"{theirs}\n")


def make(folder: Path, requirements: Path) -> None:
    """A fresh environment. Without dependencies: torch's own would pull in gigabytes of NVIDIA libraries."""
    print(f"   making {folder} from {requirements.relative_to(ROOT)}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps", "-r", str(requirements)]
    done = subprocess.run(
        install,
        # It unpacks beside what it makes: some tests look at all of the temporary folder, and that may be small.
        env=dict(os.environ, TMPDIR=str(folder.parent)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"pip could not install {requirements.name}:\n{done.stdout[-2000:]}")
    if below := below_of(requirements):
        show_packages_of(below, folder)


def tool(name: str) -> str:
    return str(python("tools").parent / name)
