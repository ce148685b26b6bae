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
    "python/vramfit/contract/variables.py": "A = {'VRAMFIT_STEPS'}\nB = {'VRAMFIT_OUTPUT_1', 'VRAMFIT_OUTPUT_2'}\n",
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


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("src/job/x.cc", 'getenv("VRAMFIT" "_NEW");', "VRAMFIT_NEW is in no table"),
        ("src/job/x.cc", 'getenv("VRAMFIT_"\n       "NEW");', "VRAMFIT_NEW is in no table"),
        ("src/job/x.cc", "f(R\"py(\nos.environ['VRAMFIT_NEW']\n)py\");", "VRAMFIT_NEW is in no table"),
        ("src/job/x.cc", 'getenv((std::string("VRAMFIT_") + name).c_str());', "VRAMFIT_ is a piece of a name"),
        ("src/job/x.cc", 'getenv((std::string("VRAMFIT") + "_NEW").c_str());', "VRAMFIT is a piece of a name"),
        ("src/job/x.inc", 'getenv("VRAMFIT_NEW");', "VRAMFIT_NEW is in no table"),
        ("src/job/x.hpp", 'getenv("VRAMFIT_NEW");', "VRAMFIT_NEW is in no table"),
        ("src/job/x.cpp", 'getenv("VRAMFIT_NEW");', "VRAMFIT_NEW is in no table"),
        ("python/vramfit/x.py", "os.environ.get('VRAMFIT' + '_NEW')", "VRAMFIT_NEW is in no table"),
        ("python/vramfit/x.py", "os.environ.get('VRAMFIT' '_NEW')", "VRAMFIT_NEW is in no table"),
        ("python/vramfit/x.py", "os.environ.get(f'VRAMFIT_{name}')", "VRAMFIT_ is a piece of a name"),
        ("python/vramfit/x.py", "os.environ.get('_'.join(('VRAMFIT', 'NEW')))", "VRAMFIT is a piece of a name"),
        ("python/vramfit/x.py", 'x = """\nVRAMFIT_NEW\n"""', "VRAMFIT_NEW is in no table"),
    ],
)
def test_a_variable_is_seen_however_it_is_written(root: Path, tmp_path: Path, file: str, text: str, name: str) -> None:
    done = run_gate(root, "check_environment", write(tmp_path, VARIABLES | {file: text + "\n"}))
    assert (done.returncode, f"{file}: {name}" in done.stdout) == (1, True), done.stdout


def test_names_that_are_only_asked_how_they_begin_pass(root: Path, tmp_path: Path) -> None:
    asks = {
        "src/job/x.cc": 'if (text.starts_with("VRAMFIT_")) f("", \'"\', "\\"");\n',
        "python/vramfit/x.py": "name.startswith('VRAMFIT_')\n",
    }
    assert run_gate(root, "check_environment", write(tmp_path, VARIABLES | asks)).returncode == 0


def test_a_variable_that_no_source_names_fails(root: Path, tmp_path: Path) -> None:
    document = VARIABLES["docs/architecture.md"] + "| `VRAMFIT_GONE` | it was |\n"
    done = run_gate(root, "check_environment", write(tmp_path, VARIABLES | {"docs/architecture.md": document}))
    assert done.returncode == 1
    assert done.stdout.startswith("docs/architecture.md: VRAMFIT_GONE is named by no source\n")


@pytest.mark.parametrize(
    ("lists", "complaint"),
    [
        ("A = {'VRAMFIT_STEPS'}\nB = {'VRAMFIT_OUTPUT_1'}\n", "VRAMFIT_OUTPUT_2 is in none of the lists"),
        (VARIABLES["python/vramfit/contract/variables.py"] + "C = {'VRAMFIT_GONE'}\n", "VRAMFIT_GONE is in no table"),
        (
            VARIABLES["python/vramfit/contract/variables.py"] + "C = {'VRAMFIT_STEPS'}\n",
            "VRAMFIT_STEPS stands there twice",
        ),
    ],
)
def test_each_variable_is_in_one_list_of_the_contract(root: Path, tmp_path: Path, lists: str, complaint: str) -> None:
    tree = write(tmp_path, VARIABLES | {"python/vramfit/contract/variables.py": lists})
    done = run_gate(root, "check_environment", tree)
    assert done.returncode == 1
    assert done.stdout.startswith(f"python/vramfit/contract/variables.py: {complaint}"), done.stdout


def test_nothing_to_compare_is_no_pass(root: Path, tmp_path: Path) -> None:
    done = run_gate(root, "check_environment", write(tmp_path, VARIABLES | {"docs/architecture.md": "no table\n"}))
    assert done.returncode == 1
    assert "nothing to compare" in done.stdout
