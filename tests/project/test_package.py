"""`pip install .` in a fresh environment gives the same command, laid out so that it finds its parts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def environment(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed") / "a venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    # One compiler a core, as elsewhere: ninja's own choice is one more.
    variables = dict(os.environ, CMAKE_BUILD_PARALLEL_LEVEL=str(len(os.sched_getaffinity(0))))
    command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", root]
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
        "lib/cu12/libvramfit_preload.so",
        "lib/cu13/libvramfit_preload.so",
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
