"""`pip install .` in a fresh environment of each Python gives the same command, laid out so that it finds its parts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from product import ROOT
from pythons import find_python, known_minors

pytestmark = pytest.mark.slow

CUDA_MAJORS = [entry["major"] for entry in json.loads((ROOT / "platforms.json").read_text())["cuda"]]


def home_of_a_stranger(home: Path) -> dict[str, str]:
    """An empty home: no headers that another build fetched, and no cache of pip's. The compiler's cache may stay."""
    cache = os.environ.get("CCACHE_DIR") or Path.home() / ".cache" / "ccache"
    variables = {name: value for name, value in os.environ.items() if name not in ("XDG_CACHE_HOME", "PIP_CACHE_DIR")}
    # One compiler a core, as elsewhere: ninja's own choice is one more.
    cores = str(len(os.sched_getaffinity(0)))
    return dict(variables, HOME=str(home), CCACHE_DIR=str(cache), CMAKE_BUILD_PARALLEL_LEVEL=cores)


@pytest.fixture(scope="module", params=known_minors(), ids=lambda minor: f"3.{minor}")
def environment(root: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    folder = tmp_path_factory.mktemp("installed") / "a venv"
    python = find_python(request.param)
    if python is None:
        pytest.skip(f"this machine has no Python 3.{request.param}")
    subprocess.run([python, "-m", "venv", folder], check=True)
    # Empty for each Python, and of the same name, which stands in the compiler's commands: its cache knows them.
    home, source = (tmp_path_factory.getbasetemp() / name for name in ("home of a stranger", "source"))
    for kept in (home, source):
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
    variables = home_of_a_stranger(home)
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    for name in filter(None, tracked.decode().split("\0")):
        if (root / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, source / name)
    command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", source]
    done = subprocess.run(command, capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder


def test_the_command_is_there_and_finds_its_catalogue(environment: Path) -> None:
    program = environment / "bin" / "vramfit"
    version = subprocess.run([program, "--version"], capture_output=True, text=True, cwd="/")
    assert version.stdout.startswith("vramfit ")
    cards = subprocess.run([program, "gpus"], capture_output=True, text=True, cwd="/")
    assert cards.returncode == 0 and "GTX 1650" in cards.stdout, cards.stderr


def test_all_parts_are_installed(environment: Path) -> None:
    (home,) = environment.glob("lib/python3*/site-packages/vramfit_home")
    for part in (
        "lib/libvramfit_recorder.so",
        *(f"lib/cu{major}/libvramfit_preload.so" for major in CUDA_MAJORS),
        "share/vramfit/cards.toml",
        "python/vramfit/__init__.py",
        "python/vramfit/hook/sitecustomize.py",
    ):
        assert (home / part).is_file(), part


def test_a_script_may_import_the_package_outside_a_run(environment: Path) -> None:
    done = subprocess.run(
        [environment / "bin" / "python", "-c", "import vramfit; vramfit.mark('here')"],
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
