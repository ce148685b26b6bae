from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as a release is, or VRAMFIT_WHEEL. What the last run compiled is kept in build/portable."""
    if os.environ.get("VRAMFIT_WHEEL"):
        return Path(os.environ["VRAMFIT_WHEEL"])
    command = [sys.executable, ROOT / "packaging" / "build_wheel", tmp_path_factory.mktemp("dist")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return Path(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is in the wheel, with the permissions that pip gives it."""
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            path = Path(archive.extract(entry, folder))
            if entry.external_attr >> 16 & 0o111:
                path.chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def elf_files(unpacked: Path) -> list[Path]:
    files = [path for path in sorted(unpacked.rglob("*")) if path.is_file() and not path.is_symlink()]
    return [path for path in files if path.read_bytes()[:4] == b"\x7fELF"]
