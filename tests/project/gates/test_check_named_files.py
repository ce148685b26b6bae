"""A comment or a page that names a file which is not there fails."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from broken_trees import run_gate, write

FILES = {
    "src/doctor/scene.h": "// What is told: doctor/stack.h, and scene.cc beside it.\n",
    "src/doctor/scene.cc": '#include "doctor/gone.h"\nconst char* kOf = "doctor/gone.h";\n',
    "src/doctor/stack.h": '// Of c10/core/Allocator.h, cuda.h and <fmt/format.h>; "/usr/lib/gone.h", `fuzz/NAME.cc`.\n',
    "python/vramfit/x.py": '"""As docs/decisions/0001 says."""\nname = "docs/gone.md"  # src/doctor/scene\n',
    "docs/decisions/0001-why.md": "`src/doctor/scene.h`, `model/made.h`, src/gone.cc without backticks\n",
    "tools/generate_contract": "made = {'model/made.h': 1}\n",
}


def look(root: Path, tree: Path, files: dict[str, str]) -> subprocess.CompletedProcess[str]:
    subprocess.run(["git", "init", "--quiet", tree], check=True)
    return run_gate(root, "check_named_files", write(tree, FILES | files))


def test_names_of_files_that_are_there_pass(root: Path, tmp_path: Path) -> None:
    done = look(root, tmp_path, {})
    assert (done.returncode, done.stdout) == (0, "files that comments and documents name are there\n")


@pytest.mark.parametrize(
    ("file", "text", "line", "name"),
    [
        ("src/doctor/x.h", "// One.\n// Two: gone.h.\n", 2, "gone.h"),
        ("src/doctor/x.cc", "int a;  // as doctor/gone tells\n", 1, "doctor/gone"),
        ("src/doctor/x.cc", "// Below src/doctor/gone.cc it ends.\n", 1, "src/doctor/gone.cc"),
        ("python/vramfit/y.py", '"""One.\n\nTwo: src/doctor/gone.h\n"""\n', 3, "src/doctor/gone.h"),
        ("python/vramfit/y.py", "x = 1  # allocator.md\n", 1, "allocator.md"),
        ("tools/check_x", "#!/usr/bin/env python3\n# python/vramfit/gone\n", 2, "python/vramfit/gone"),
        ("docs/y.md", "As in `src/doctor/gone.h`.\n", 1, "src/doctor/gone.h"),
    ],
)
def test_a_name_of_a_file_that_is_not_there_fails(
    root: Path, tmp_path: Path, file: str, text: str, line: int, name: str
) -> None:
    done = look(root, tmp_path, {file: text})
    assert (done.returncode, done.stdout) == (1, f"{file}:{line}: {name}: there is no such file\n")
