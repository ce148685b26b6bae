"""Environment variables that a table or a source alone names fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken_trees import run_gate, write

VARIABLES = {
    "src/job/child.cc": 'environment["VRAMFIT_STEPS"] = "VRAMFIT_OUTPUT_" + number;\n',
    "python/vramfit/steer/cut.py": "os.environ.get('VRAMFIT_STEPS')\n",
    "src/job/child_test.cc": 'setenv("VRAMFIT_ONLY_IN_A_TEST", "1", 1);\n',
    "docs/architecture.md": "| variable | meaning |\n|---|---|\n| `VRAMFIT_STEPS` | of `VRAMFIT_PROSE` |\n"
    "| `VRAMFIT_OUTPUT_1`, `VRAMFIT_OUTPUT_2` | two |\n",
    "src/job/outputs.cc": 'names = {"VRAMFIT_OUTPUT_1", "VRAMFIT_OUTPUT_2"};\n',
}


def test_variables_that_stand_in_the_tables_pass(root: Path, tmp_path: Path) -> None:
    done = run_gate(root, "check_environment", write(tmp_path, VARIABLES))
    assert (done.returncode, done.stdout) == (0, "the tables of environment variables are complete\n")


@pytest.mark.parametrize("file", ["recorder/x.cc", "virtual_gpu/cudnn/x.cc", "python/vramfit/apply/x.py"])
def test_a_variable_that_no_table_names_fails(root: Path, tmp_path: Path, file: str) -> None:
    done = run_gate(root, "check_environment", write(tmp_path, VARIABLES | {file: 'getenv("VRAMFIT_NEW")\n'}))
    assert done.returncode == 1
    assert done.stdout == f"{file}: VRAMFIT_NEW is in no table of docs/architecture.md\n"


def test_a_variable_that_no_source_names_fails(root: Path, tmp_path: Path) -> None:
    document = VARIABLES["docs/architecture.md"] + "| `VRAMFIT_GONE` | it was |\n"
    done = run_gate(root, "check_environment", write(tmp_path, VARIABLES | {"docs/architecture.md": document}))
    assert done.returncode == 1
    assert done.stdout == "docs/architecture.md: VRAMFIT_GONE is named by no source\n"


def test_nothing_to_compare_is_no_pass(root: Path, tmp_path: Path) -> None:
    done = run_gate(root, "check_environment", write(tmp_path, VARIABLES | {"docs/architecture.md": "no table\n"}))
    assert done.returncode == 1
    assert "nothing to compare" in done.stdout
