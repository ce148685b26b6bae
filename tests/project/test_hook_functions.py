"""The C functions that hooks call have one description, and whoever defines one otherwise does not compile."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOOKS = ROOT / "python" / "vramfit"
HEADER = ROOT / "include" / "vramfit" / "hook_functions.h"
DEFINING = {
    "recorder/interface.cc": "vramfit_tag",
    "src/isolate/interface.cc": "vramfit_enter_layer",
    "virtual_gpu/device/contents.cc": "vramfit_gpu_value_state",
    "virtual_gpu/host/late_fill.cc": "vramfit_host_defer",
    "virtual_gpu/preload/dispatch_modes.cc": "vramfit_own_dispatch_mode",
}


def test_no_other_file_of_the_hooks_says_types() -> None:
    files = [path for path in HOOKS.rglob("*.py") if re.search(r"\.(argtypes|restype)\b", path.read_text())]
    assert files == [HOOKS / "contract" / "functions.py"]


def test_every_function_is_defined_by_somebody() -> None:
    sources = [path for room in ("recorder", "src", "virtual_gpu") for path in (ROOT / room).rglob("*.cc")]
    defined = "\n".join(path.read_text() for path in sources)
    declared = re.findall(r"\b(vramfit_\w+)\(", HEADER.read_text())
    assert len(declared) > 30
    assert [name for name in declared if not re.search(rf"\b{name}\([^;]*?\{{", defined)] == []


@pytest.mark.parametrize(("source", "function"), DEFINING.items())
def test_a_definition_of_another_type_does_not_compile(source: str, function: str, tmp_path: Path) -> None:
    (tmp_path / "vramfit").mkdir()
    header = tmp_path / "vramfit" / HEADER.name

    def compiles(text: str) -> bool:
        header.write_text(text)
        folders = [f"-I{tmp_path}", f"-I{ROOT}", f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}", f"-I{ROOT / 'recorder'}"]
        command = ["g++", "-std=c++23", "-fsyntax-only", "-w", *folders, str(ROOT / source)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    text = HEADER.read_text()
    changed = re.sub(rf"\b{function}\(", f"{function}(int, ", text)
    assert changed != text
    assert compiles(text)
    assert not compiles(changed)
