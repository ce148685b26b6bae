"""The wheel keeps to the rules of manylinux_2_28, and those who check it would notice if it did not."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from product import STAGE

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent.parent
AUDITWHEEL = ROOT / "build" / "portable" / "environment" / "bin" / "python"
# What may lie on any machine, by PEP 600 and auditwheel's list; all else is in the wheel.
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2"}


def read(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_it_is_one_for_all_pythons_and_small(wheel: Path) -> None:
    assert re.fullmatch(r"vramfit-[0-9.]+-py3-none-manylinux_2_28_x86_64\.whl", wheel.name)
    assert wheel.stat().st_size < 30_000_000
    with zipfile.ZipFile(wheel) as archive:
        folders = {name.partition("/")[0] for name in archive.namelist()}
        assert folders == {"vramfit", "vramfit_home", f"{wheel.name.split('-py3')[0]}.dist-info"}
        (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        assert "Requires-Python: >=3.9" in archive.read(metadata).decode()


def test_auditwheel_finds_nothing_newer(wheel: Path) -> None:
    shown = read(AUDITWHEEL, "-m", "auditwheel", "show", wheel)
    found = re.search(r'constrained by the following external versioned symbols|"manylinux_2_(\d+)_x86_64"', shown)
    assert found and found[1] and int(found[1]) <= 28, shown


def test_no_file_asks_for_a_newer_c_library(elf_files: list[Path]) -> None:
    """Read without auditwheel, which looks at what Python may import."""
    assert len(elf_files) > 30
    for path in elf_files:
        for minor in re.findall(r"GLIBC_2\.(\d+)", read("objdump", "-T", path)):
            assert int(minor) <= 28, f"{path.name} needs GLIBC_2.{minor}"


def test_all_that_is_needed_is_of_the_system_or_in_the_wheel(elf_files: list[Path]) -> None:
    own = {path.name for path in elf_files}
    assert len(own) > 30
    for path in elf_files:
        needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", read("readelf", "-d", path)))
        assert needed <= OF_THE_SYSTEM | own, f"{path.name}: {needed - OF_THE_SYSTEM - own}"


def exported(library: Path) -> set[str]:
    """With their versions. A job's process finds these names, and no others, before its own libraries'.

    The names of our own functions hold those of the C++ library's types, which each compiler calls otherwise.
    """
    lines = read("nm", "-D", "--defined-only", library).splitlines()
    names = {name for kind, name in (line.split()[-2:] for line in lines) if kind != "A"}
    return {name for name in names if not re.match(r"_Z.*7vramfit", name)}


def test_libraries_export_what_those_of_the_other_compiler_do(unpacked: Path, elf_files: list[Path]) -> None:
    """A name of the C++ runtime that a preloaded library lets out would stand before the job's own."""
    libraries = [path for path in elf_files if ".so" in path.name]
    assert len(libraries) > 30
    for library in libraries:
        theirs = STAGE / library.relative_to(unpacked / "vramfit_home")
        assert not (difference := exported(library) ^ exported(theirs)), f"{library.name}: {sorted(difference)[:20]}"


def test_a_library_for_a_newer_system_is_refused(wheel: Path, tmp_path: Path) -> None:
    """The check itself: the same wheel with one function that came with glibc 2.29 or later."""
    source = "#include <math.h>\ndouble f(double x) { return exp(x) + pow(x, x) + log(x); }\n"
    library = tmp_path / "new.so"
    compile_it = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library), "-lm"]
    subprocess.run(compile_it, input=source, text=True, check=True)
    assert "GLIBC_2.29" in read("objdump", "-T", library)
    spoilt = tmp_path / wheel.name.replace("manylinux_2_28", "linux")
    with zipfile.ZipFile(wheel) as good, zipfile.ZipFile(spoilt, "w") as bad:
        for entry in good.infolist():
            listed = b"vramfit_home/lib/new.so,,\n" if entry.filename.endswith("/RECORD") else b""
            bad.writestr(entry, good.read(entry) + listed)
        bad.write(library, "vramfit_home/lib/new.so")
    command = [AUDITWHEEL, "-m", "auditwheel", "repair", "--plat", "manylinux_2_28_x86_64", "-w", tmp_path, spoilt]
    path = f"{AUDITWHEEL.parent}:/usr/bin:/bin"
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": path})
    assert done.returncode != 0
    assert "too-recent versioned symbols" in done.stderr
