"""The contract of notes and numbers: its classes, who makes them, and what is generated of it."""

from __future__ import annotations

import ast
import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest


@pytest.fixture
def contract(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(root / "python"))
    yield importlib.import_module("vramfit.contract.notes")


def test_a_record_refuses_what_it_does_not_have_and_what_it_lacks(contract: ModuleType) -> None:
    with pytest.raises(TypeError, match="Open has no field colour"):
        contract.Open(text="x", colour=1)
    with pytest.raises(TypeError, match="Cut needs text"):
        contract.Cut(what="loader")
    assert contract.Cut(what="loader", text="x").kept is None


def test_a_note_is_written_with_its_kind_and_what_is_in_it(contract: ModuleType) -> None:
    fields = importlib.import_module("vramfit.contract.fields")
    frame = contract.StackFrame(file="train.py", line=3, function="main")
    error = contract.Error(type="E", message="m", stack=[frame])
    assert json.loads(json.dumps(error, default=fields.plain)) == {
        "kind": "error",
        "type": "E",
        "message": "m",
        "stack": [{"file": "train.py", "line": 3, "function": "main"}],
    }


def made_notes(path: Path) -> Iterator[tuple[str, set[str]]]:
    """The class and the fields of each note that a module makes: `said.Cut(what=...)`."""
    for node in ast.walk(ast.parse(path.read_text())):
        is_said = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if is_said and isinstance(node.func.value, ast.Name) and node.func.value.id == "said":
            assert not node.args, f"{path.name}:{node.lineno}: fields have names"
            yield node.func.attr, {word.arg for word in node.keywords if word.arg is not None}


def test_every_note_that_the_hooks_make_is_one_of_the_contract(root: Path, contract: ModuleType) -> None:
    made = set()
    for path in (root / "python" / "vramfit").rglob("*.py"):
        for name, fields in made_notes(path):
            known = getattr(contract, name).__annotations__
            assert fields <= known.keys(), f"{path.name}: {name}"
            made.add(name)
    kinds = {name: kind for name, kind in vars(contract).items() if isinstance(kind, type)}
    notes = {name for name, kind in kinds.items() if issubclass(kind, contract.Note) and kind is not contract.Note}
    by_others = {"RecordingStopped"}  # the recorder
    assert len(made) > 40 and notes - made - by_others == {"ModuleGradients", "ModuleStates"}, "nobody makes these"


def generate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "tools" / "generate_contract"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_contract_that_the_documentation_does_not_follow_fails(root: Path, tmp_path: Path) -> None:
    for name in ("tools/generate_contract", "docs/notes.md", "include/vramfit/numbers.h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, tmp_path / name)
    sources = tmp_path / "python" / "vramfit" / "contract"
    shutil.copytree(root / "python" / "vramfit" / "contract", sources)
    assert generate(tmp_path, "--check").returncode == 0
    notes = sources / "notes.py"
    notes.write_text(
        notes.read_text().replace("class Open(Note", 'class New(Note, kind="new"):\n    """x"""\n\n\nclass Open(Note')
    )
    numbers = sources / "numbers.py"
    numbers.write_text(numbers.read_text().replace("SAVE = 4", "SAVE = 5"))
    done = generate(tmp_path, "--check")
    assert done.returncode == 1
    assert "docs/notes.md" in done.stdout and "include/vramfit/numbers.h" in done.stdout
    assert generate(tmp_path, "--write").returncode == 0
    assert generate(tmp_path, "--check").returncode == 0


def test_names_of_phases_and_stages_are_made_of_the_contract(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "python" / "vramfit" / "contract", tmp_path / "python" / "vramfit" / "contract")
    (tmp_path / "tools").mkdir()
    shutil.copy(root / "tools" / "generate_contract", tmp_path / "tools")
    numbers = tmp_path / "python" / "vramfit" / "contract" / "numbers.py"
    as_it_is = numbers.read_text()
    numbers.write_text(as_it_is.replace("    SAVE = 4", "    SAVE = 4\n    EXPORT = 5"))
    assert generate(tmp_path, str(tmp_path / "out")).returncode == 0
    made = (tmp_path / "out" / "model" / "number_names.h").read_text()
    assert '({"load", "train", "validate", "test", "save", "export"})' in made
    assert '({"other", "forward", "backward", "optimizer", "input"})' in made
    numbers.write_text(as_it_is.replace("SAVE = 4", "SAVE = 5"))
    refused = generate(tmp_path, str(tmp_path / "out"))
    assert refused.returncode != 0 and "the numbers of Phase are not 0, 1, 2" in refused.stderr


def test_a_type_that_nobody_knows_is_refused(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "python" / "vramfit" / "contract", tmp_path / "python" / "vramfit" / "contract")
    (tmp_path / "tools").mkdir()
    shutil.copy(root / "tools" / "generate_contract", tmp_path / "tools")
    notes = tmp_path / "python" / "vramfit" / "contract" / "notes.py"
    notes.write_text(notes.read_text().replace("    value: int", "    value: set[int]"))
    done = generate(tmp_path, str(tmp_path / "out"))
    assert done.returncode != 0 and "a type that nobody knows: set[int]" in done.stderr


def test_the_plan_of_the_architecture_is_one_and_shows_every_technique(root: Path) -> None:
    page = (root / "docs" / "architecture.md").read_text()
    plan = json.loads(page.split("```json\n", 1)[1].split("```", 1)[0])
    schema = json.loads((root / "docs" / "plan.schema.json").read_text())
    jsonschema.validate(plan, schema)
    known = {each["properties"]["id"]["const"] for each in schema["properties"]["techniques"]["items"]["oneOf"]}
    assert {change["id"] for change in plan["techniques"]} == known
