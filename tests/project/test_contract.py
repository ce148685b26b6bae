"""The contract of notes and numbers: its classes, who makes them, and what is generated of it."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
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
    assert contract.Precision(scaler=True).autocast is None


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


def made_notes(path: Path, of: str = "said") -> Iterator[tuple[str, set[str]]]:
    """The class and the fields of each note that a module makes: `said.Cut(what=...)`. `of="told"`: of told.py."""
    for node in ast.walk(ast.parse(path.read_text())):
        is_said = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if is_said and isinstance(node.func.value, ast.Name) and node.func.value.id == of:
            is_named = not node.args and all(word.arg for word in node.keywords)
            assert is_named, f"{path.name}:{node.lineno}: fields have names, whose types mypy sees"
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
    by_others = {"RealCard", "RecordingStopped"}  # the recorder
    by_variable = {"ModuleGradients", "ModuleStates"}  # their name stands in a variable
    assert len(made) > 40
    assert notes - made - by_others - by_variable == set(), "notes that no hook makes: have one, or leave them out"


def class_of(node: ast.AST | None, of: str = "said") -> str | None:
    """The class of `said.Cut(...)`, and of the annotations `said.Cut` and `said.Cut | None`."""
    node = node.func if isinstance(node, ast.Call) else node
    found = [part for part in ast.walk(node) if isinstance(part, ast.Attribute)] if node is not None else []
    is_said = len(found) == 1 and isinstance(found[0].value, ast.Name) and found[0].value.id == of
    return found[0].attr if is_said else None


def filled_later(tree: ast.Module, of: str = "said") -> Iterator[tuple[str, str]]:
    """Classes and fields that are given a value after the note is made, on a name that a function has for it."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        bound: dict[str, str | None] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.arg) and node.annotation is not None:
                bound[node.arg] = class_of(node.annotation, of)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                bound[node.target.id] = class_of(node.annotation, of)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                made = class_of(node.value, of)
                bound.update({target.id: made for target in node.targets if made and isinstance(target, ast.Name)})
        for node in ast.walk(function):
            is_stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            if is_stored and isinstance(node.value, ast.Name) and (name := bound.get(node.value.id)):
                yield name, node.attr


def written_fields(root: Path, of: str = "said") -> dict[str, set[str]]:
    """The fields of each class that hooks fill, when they make it or later."""
    written: dict[str, set[str]] = {}
    for path in (root / "python" / "vramfit").rglob("*.py"):
        for name, fields in made_notes(path, of):
            written.setdefault(name, set()).update(fields)
        for name, field in filled_later(ast.parse(path.read_text()), of):
            written.setdefault(name, set()).add(field)
    return written


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("def f():\n    cut = said.Cut(what='x')\n    cut.text = 'y'\n", {"what", "text"}),
        ("def f():\n    cut: said.Cut | None = g()\n    cut.text = 'y'\n", {"text"}),
        ("def f(cut: said.Cut):\n    cut.text = 'y'\n", {"text"}),
        ("def f(cut, open):\n    cut = said.Cut(what='x')\n    open.text = 'y'\n", {"what"}),
        ("class Other:\n    def f(self):\n        self.text = said.Cut(what='x')\n", {"what"}),
    ],
)
def test_only_what_a_note_is_given_counts_as_filled(tmp_path: Path, text: str, filled: set[str]) -> None:
    module = tmp_path / "python" / "vramfit" / "x.py"
    module.parent.mkdir(parents=True)
    module.write_text(text)
    assert written_fields(tmp_path) == {"Cut": filled}


def test_fields_that_are_not_named_are_refused(tmp_path: Path) -> None:
    module = tmp_path / "x.py"
    module.write_text("told = {'text': 3}\nsaid.Open(**told)\n")
    with pytest.raises(AssertionError, match="x.py:2: fields have names"):
        list(made_notes(module))


def test_a_note_takes_no_name_that_is_no_field(contract: ModuleType) -> None:
    note = contract.Cut(what="loader", text="x")
    note.text = "y"
    with pytest.raises(AttributeError, match="Cut has no field extra"):
        note.extra = 1


def test_every_field_is_filled_by_some_hook(root: Path, contract: ModuleType) -> None:
    written = written_fields(root)
    assert len(written) > 60
    unwritten = [
        f"{name}.{field}"
        for name, fields in written.items()
        for field in getattr(contract, name).__annotations__
        if field not in fields
    ]
    assert unwritten == [], "read by vramfit and filled by no hook: they go, or a hook fills them"


def test_what_is_told_beside_notes_is_filled_in_full(root: Path, contract: ModuleType) -> None:
    told = importlib.import_module("vramfit.contract.told")
    own = {name: set(kind.__annotations__) for name, kind in vars(told).items() if is_own_record(told, kind)}
    assert {"WarmAnswer", "Patch", "OomReport"} <= own.keys()
    assert written_fields(root, "told") == own
    assert told.OOM_REPORT_MARK in own["OomReport"]


def is_own_record(module: ModuleType, kind: object) -> bool:
    return isinstance(kind, type) and kind.__module__ == module.__name__


def test_what_is_asked_is_read_with_the_records_in_it_and_with_no_other_key(contract: ModuleType) -> None:
    asked = importlib.import_module("vramfit.contract.asked")
    fields = importlib.import_module("vramfit.contract.fields")
    job = {"id": 1, "argv": ["train.py"], "cwd": "/job", "env": {"A": "b"}}
    request = fields.read(asked.WarmRequest, {**job, "layer": {"library": "l.so", "spec": "s"}, "shared": None})
    assert (request.layer.spec, request.shared, request.run_as) == ("s", None, "script")
    for wrong in ({**job, "timout": 1.0}, {**job, "layer": {"library": "l.so"}}, {"id": 1}, [job]):
        with pytest.raises(TypeError):
            fields.read(asked.WarmRequest, wrong)


MISSPELT = """
#include "job/asked_json.h"
#include "ingest/told_json.h"
vramfit::model::asked::WarmRequest request;
vramfit::model::told::WarmAnswer answer;
auto told() { return request.run_as; }
auto asked() { return answer.ended; }
"""


def test_a_key_that_python_has_under_another_name_does_not_compile(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "python" / "vramfit" / "contract", tmp_path / "python" / "vramfit" / "contract")
    (tmp_path / "tools").mkdir()
    shutil.copy(root / "tools" / "generate_contract", tmp_path / "tools")
    told = tmp_path / "python" / "vramfit" / "contract" / "told.py"
    (tmp_path / "unit.cc").write_text(MISSPELT)
    folders = [f"-I{folder}" for folder in (tmp_path / "made", root / "src", root / "include")]
    command = ["g++", "-std=c++23", "-fsyntax-only", "-DFMT_SHARED", *folders, str(tmp_path / "unit.cc")]

    def compile_with(name: str) -> str:
        told.write_text(re.sub(r"    (exit_code|ended): int", f"    {name}: int", told.read_text()))
        assert generate(tmp_path, str(tmp_path / "made")).returncode == 0
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"}).stderr

    assert "has no member named ‘ended’" in compile_with("exit_code")
    assert compile_with("ended") == ""


# Rooms that read notes, and those that read their records as evidence (model/note_records.h): every file of the former,
# and of the latter those that name what is read in these.
READERS = {
    "facts": lambda text: True,
    "liveness": lambda text: True,
    "doctor": lambda text: re.search(r"older|\bheld\b", text),
    "report": lambda text: "Holder" in text,
}
STRUCT = re.compile(r"^struct (\w+) \{")
MEMBER = re.compile(r"^  (?!friend)\S.*? (\w+)( = [^;]*)?;")
WARNED = re.compile(r"^(\S+?):\d+:\d+: warning: ‘(?:[^’]* )?\w+::\w+::notes::(\w+::\w+)’ is deprecated", re.MULTILINE)


def mark_members(header: Path) -> set[str]:
    """Has the compiler tell of every use of a note's field, by name. Comparisons and constructors are no use."""
    fields, lines, struct = set(), [], ""
    for line in header.read_text().splitlines():
        struct = found[1] if (found := STRUCT.match(line)) else struct
        if struct not in ("", "Notes") and (member := MEMBER.match(line)):
            fields.add(f"{struct}::{member[1]}")
            line = f"  [[deprecated]] {line.strip()}"
        lines.append(line.replace(" = default;", ";"))
    header.write_text("\n".join(lines) + "\n")
    return fields


def find_used(root: Path, made: Path, room: str) -> set[str]:
    files = [path for path in sorted((root / "src" / room).rglob("*.cc")) if not path.stem.endswith("_test")]
    wanted = [path for path in files if READERS[room](path.read_text())]
    unit = made / f"{room}.cc"
    unit.write_text("".join(f'#include "{path}"\n' for path in wanted))
    folders = [f"-I{folder}" for folder in (made, root / "src", root / "include")]
    command = ["g++", "-std=c++23", "-fsyntax-only", "-Wdeprecated-declarations", "-DFMT_SHARED", *folders, unit]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stderr[:4000]
    return {found[2] for found in WARNED.finditer(done.stderr) if not found[1].startswith(str(made))}


def test_every_field_is_read_by_somebody(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "python" / "vramfit" / "contract", tmp_path / "python" / "vramfit" / "contract")
    (tmp_path / "tools").mkdir()
    shutil.copy(root / "tools" / "generate_contract", tmp_path / "tools")
    notes = tmp_path / "python" / "vramfit" / "contract" / "notes"
    for file, name in (("left_out.py", "Open"), ("process.py", "StackFrame")):
        text = (notes / file).read_text()
        seeded = re.sub(rf"(class {name}\(.*\n.*\n\n)", r"\1    read_by_nobody: int = 0\n", text)
        assert seeded.count("read_by_nobody") == 1
        (notes / file).write_text(seeded)
    made = tmp_path / "made"
    assert generate(tmp_path, str(made)).returncode == 0
    fields = {field for header in ("notes.h", "note_records.h") for field in mark_members(made / "model" / header)}
    assert len(fields) > 250
    used = set().union(*(find_used(root, made, room) for room in READERS))
    # The two that were put in show that this can fail; any other is a field that nothing reads: use it, or drop it.
    assert sorted(fields - used) == ["Open::read_by_nobody", "StackFrame::read_by_nobody"]


def generate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "tools" / "generate_contract"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_contract_that_the_documentation_does_not_follow_fails(root: Path, tmp_path: Path) -> None:
    kept = ("docs/notes.md", "include/vramfit/numbers.h", "include/vramfit/hook_functions.h")
    for name in ("tools/generate_contract", *kept):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, tmp_path / name)
    sources = tmp_path / "python" / "vramfit" / "contract"
    shutil.copytree(root / "python" / "vramfit" / "contract", sources)
    assert generate(tmp_path, "--check").returncode == 0
    notes = sources / "notes" / "left_out.py"
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
    notes = tmp_path / "python" / "vramfit" / "contract" / "notes" / "growth.py"
    notes.write_text(notes.read_text().replace("    value: int", "    value: set[int]"))
    done = generate(tmp_path, str(tmp_path / "out"))
    assert done.returncode != 0 and "a type that nobody knows: set[int]" in done.stderr


def test_a_field_of_words_takes_no_other(root: Path, tmp_path: Path) -> None:
    assert generate(root, str(tmp_path)).returncode == 0
    made = (tmp_path / "ingest" / "note_readers.inc").read_text()
    records = (tmp_path / "model" / "note_records.h").read_text()
    assert "enum class UsesCard { kUnread, kYes, kNo, kUnknown };" in records
    assert "UsesCard card = UsesCard::kUnknown;" in records and "read_word(from, notes::kUsesCardWords, into" in made
    assert "CutKind what = CutKind::kUnread;" in (tmp_path / "model" / "notes.h").read_text()
    assert '"\\"average_in_order\\""' in (tmp_path / "notes.dict").read_text()


def test_words_without_a_name_are_refused(root: Path, tmp_path: Path) -> None:
    """They would be texts in C++, where a misspelt one compiles."""
    shutil.copytree(root / "python" / "vramfit" / "contract", tmp_path / "python" / "vramfit" / "contract")
    (tmp_path / "tools").mkdir()
    shutil.copy(root / "tools" / "generate_contract", tmp_path / "tools")
    notes = tmp_path / "python" / "vramfit" / "contract" / "notes" / "left_out.py"
    as_it_is = notes.read_text()
    for annotation in ('Literal["loader", "steps"]', 'list[Literal["loader", "steps"]]', 'Literal["loader"] | None'):
        notes.write_text(as_it_is.replace("    what: CutKind", f"    what: {annotation}"))
        done = generate(tmp_path, str(tmp_path / "out"))
        assert done.returncode != 0 and "generate_contract: " in done.stderr, annotation


def test_the_plan_of_the_architecture_is_one_and_shows_every_technique(root: Path) -> None:
    page = (root / "docs" / "architecture.md").read_text()
    plan = json.loads(page.split("```json\n", 1)[1].split("```", 1)[0])
    schema = json.loads((root / "docs" / "plan.schema.json").read_text())
    jsonschema.validate(plan, schema)
    known = {each["properties"]["id"]["const"] for each in schema["properties"]["techniques"]["items"]["oneOf"]}
    assert {change["id"] for change in plan["techniques"]} == known
