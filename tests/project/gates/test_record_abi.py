"""A function that a real library exports and no table has fails."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


def wheel_exporting(function: str, folder: Path) -> Path:
    """A wheel with a library that calls itself cuBLAS and exports one function."""
    library = folder / "libcublas.so.13"
    source = f"int {function}(void) {{ return 0; }}"
    command = ["gcc", "-shared", "-fPIC", "-Wl,-soname,libcublas.so.13", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=source, text=True, check=True)
    wheel = folder / "nvidia_cublas-13.99.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(library, "nvidia/cu13/lib/libcublas.so.13")
    return wheel


@pytest.mark.parametrize(("function", "code"), [("cublasHgemm", 0), ("cublasNotThere", 1)])
def test_a_name_that_the_real_library_exports_must_be_in_the_table(
    root: Path, tmp_path: Path, function: str, code: int
) -> None:
    wheel = wheel_exporting(function, tmp_path)
    command = [sys.executable, root / "tools" / "record_abi", "--exports", "--check", wheel]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    assert (f"  {function}: exported" in done.stdout) == bool(code)
