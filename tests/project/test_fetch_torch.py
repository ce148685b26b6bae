"""What ./vramfit downloads while it is being built: what the job will need, or nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest
from product import wait_for
from test_bootstrap import add_program


@pytest.fixture
def fetch_torch(root: Path) -> ModuleType:
    loader = SourceFileLoader("fetch_torch", str(root / "tools" / "fetch_torch"))
    spec = spec_from_loader("fetch_torch", loader)
    assert spec
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("words", "minor", "version"),
    [
        (["--gpu", "GTX 1650"], 11, "2.12.1"),
        (["--gpu=rtx4090"], 11, "2.12.1"),
        (["--gpu", "RTX 3090:20GiB"], 11, "2.12.1"),
        (["--gpu", "gtx1070"], 11, "2.6.0"),
        (["--gpu", "GTX 1650"], 9, "2.6.0"),
        (["--gpu", "GTX 1650", "--torch", "2.9"], 11, "2.9.1"),
        (["--gpu", "a card of my own.toml"], 11, None),
        ([], 11, None),
    ],
)
def test_the_release_is_the_one_that_the_program_will_choose(
    fetch_torch: ModuleType, words: list[str], minor: int, version: str | None
) -> None:
    release = fetch_torch.choose_release(["run", *words], minor)
    assert (release and release["version"]) == version


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A Python without torch, whose pip writes down what it is to download, and a job for it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    asked = tmp_path / "asked"
    add_program(
        tmp_path,
        "pip",
        f'shift 3; echo "$*" >>"{asked}"; [ -z "$SLOW" ] || exec sleep 60; mkdir -p "$3" && >"$3/a.whl"',
    )
    add_program(
        folder,
        "python",
        f'case "$*" in *version_info*) echo 11 ;; *venv*) mkdir -p "$3/bin" && cp "{tmp_path}/pip" "$3/bin/python" ;; '
        '*find_spec*) exit "${HAS_TORCH:-0}" ;; esac',
    )
    (tmp_path / "train.py").write_text("import torch\n")
    (tmp_path / "other.py").write_text("import jax\n")
    return tmp_path


def start(root: Path, machine: Path, *words: str, **variables: str) -> subprocess.Popen[bytes]:
    path = f"{machine / 'bin'}:{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    environment = dict(kept, PATH=path, VRAMFIT_CACHE=str(machine / "cache"), **variables)
    command = [sys.executable, str(root / "tools" / "fetch_torch"), str(machine / "fetching"), *words]
    return subprocess.Popen(command, cwd=machine, env=environment)


JOB = ("run", "--gpu", "GTX 1650", "--", "python", "train.py")


def test_it_is_downloaded_and_nothing_is_left_behind(root: Path, machine: Path) -> None:
    assert start(root, machine, *JOB).wait(timeout=30) == 0
    (line,) = (machine / "asked").read_text().splitlines()
    assert line.split()[0] == "--no-deps" and line.split()[-1] == "torch==2.12.1"
    assert not (machine / "fetching").exists()
    assert (machine / "cache" / "fetched" / "torch-2.12.1-cp311" / "a.whl").exists()


def test_what_was_fetched_once_waits_for_the_program(root: Path, machine: Path) -> None:
    assert start(root, machine, *JOB).wait(timeout=30) == 0
    (machine / "asked").unlink()
    assert start(root, machine, *JOB).wait(timeout=30) == 0
    assert not (machine / "asked").exists()


@pytest.mark.parametrize(
    ("words", "variables"),
    [
        (JOB, {"HAS_TORCH": "1"}),
        (("gpus",), {}),
        ((), {}),
        ((*JOB[:-1], "other.py"), {}),
        ((*JOB[:-1], "gone.py"), {}),
        (("run", "--gpu", "real", "--", "python", "train.py"), {}),
    ],
)
def test_what_needs_no_torch_of_ours_downloads_nothing(
    root: Path, machine: Path, words: tuple[str, ...], variables: dict[str, str]
) -> None:
    assert start(root, machine, *words, **variables).wait(timeout=30) == 0
    assert not (machine / "asked").exists()


def test_an_environment_that_is_kept_already_needs_no_download(root: Path, machine: Path) -> None:
    kept = machine / "cache" / "envs" / "torch-2.12.1"
    kept.mkdir(parents=True)
    (kept / "vramfit.complete").write_text("")
    assert start(root, machine, *JOB).wait(timeout=30) == 0
    assert not (machine / "asked").exists()


def test_a_download_that_is_stopped_ends_with_its_folder(root: Path, machine: Path) -> None:
    process = start(root, machine, *JOB, SLOW="1")
    wait_for((machine / "asked").exists)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 1
    assert not (machine / "fetching").exists()
