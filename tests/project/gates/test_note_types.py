"""A note of other types than the contract's fails mypy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "made, said",
    [
        ("WideLayer(name='head', classes='many')", '"classes" to "WideLayer" has incompatible type "str"'),
        ("WideLayer(name='head')", 'Missing named argument "classes"'),
        ("WideLayer(name='head', classes=2, rows=3)", 'Unexpected keyword argument "rows"'),
        ("ModuleStates(bytes=[[0, 1, 2]])", 'expected "ModuleBytes"'),
        ("WideLayer(name='head', classes=2).classes = 'many'", 'expression has type "str", variable has type "int"'),
        ("WideLayer(name='head', classes=2).clases = 3", '"WideLayer" has no attribute "clases"'),
        ("Cut(what='no such word', text='x')", '"what" to "Cut" has incompatible type "Literal'),
        ("WideLayer(name='head', classes=2).classes = 3", ""),
        ("WideLayer(name='head', classes=2)", ""),
    ],
)
def test_a_note_of_other_types_than_the_contracts_fails(root: Path, tmp_path: Path, made: str, said: str) -> None:
    check(root, tmp_path, f"from vramfit.contract import notes as said\n\nsaid.{made}\n", said)


@pytest.mark.parametrize(
    "made, said",
    [
        ("told.WarmAnswer(id=1).exit_cod = 3", '"WarmAnswer" has no attribute "exit_cod"'),
        ("told.Patch(root='/', files=[], done=[{}], left=[])", 'expected "str"'),
        ("read(asked.WarmRequest, {}).timout", '"WarmRequest" has no attribute "timout"'),
        ("read(asked.FirstSteps, {}).sample", '"FirstSteps" has no attribute "sample"'),
        ("read(asked.FirstSteps, {}).samples", ""),
    ],
)
def test_a_key_of_what_goes_to_and_fro_beside_notes_is_one_of_the_contracts(
    root: Path, tmp_path: Path, made: str, said: str
) -> None:
    imports = "from vramfit.contract import asked, told\nfrom vramfit.contract.fields import read\n"
    check(root, tmp_path, f"{imports}\n{made}\n", said)


def check(root: Path, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "writes.py").write_text(text)
    command = [Path(sys.executable).parent / "mypy", f"--config-file={root / 'pyproject.toml'}", "--no-incremental"]
    done = subprocess.run([*command, tmp_path / "writes.py"], cwd=root, capture_output=True, text=True)
    assert done.returncode == (1 if said else 0), done.stdout
    assert said in done.stdout
