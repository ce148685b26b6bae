"""Includes and imports that follow the rooms pass, others fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken_trees import run_gate, write

HEADERS = {
    "src/base/bytes.h": "",
    "src/model/card.h": '#include "base/bytes.h"\n',
    "src/app/run.h": '#include "model/card.h"\n#include <vector>\n',
    "include/vramfit/ledger.h": "#include <stdint.h>\n",
    "virtual_gpu/ledger/ledger.h": "#include <vramfit/ledger.h>\n",
    "recorder/recorder.h": "",
}


def test_includes_that_follow_the_rooms_pass(root: Path, tmp_path: Path) -> None:
    done = run_gate(root, "check_layers", write(tmp_path, HEADERS))
    assert (done.returncode, done.stdout) == (0, "includes and imports follow the rooms\n")


@pytest.mark.parametrize(
    ("source", "include", "target"),
    [
        ("src/base/clock.cc", '"app/run.h"', "src/app"),
        ("src/model/plan.cc", '"../app/run.h"', "src/app"),
        ("src/report/text.cc", '"app/run.h"', "src/app"),
        ("src/verify/check.cc", '"app/run.h"', "src/app"),
        ("virtual_gpu/cudart/memory.cc", '"../../src/base/bytes.h"', "src/base"),
        ("recorder/recorder.cc", '"base/bytes.h"', "src/base"),
        ("recorder/recorder.cc", '"ledger/ledger.h"', "virtual_gpu"),
        ("src/app/run.cc", '"virtual_gpu/ledger/ledger.h"', "virtual_gpu"),
    ],
)
def test_an_include_against_the_rooms_fails(root: Path, tmp_path: Path, source: str, include: str, target: str) -> None:
    tree = write(tmp_path, HEADERS | {source: f"// first line\n#include {include}\n"})
    done = run_gate(root, "check_layers", tree)
    assert done.returncode == 1
    room = "/".join(source.split("/")[:2]) if source.startswith("src") else source.split("/")[0]
    assert f"{source}:2: {room} may not include" in done.stdout
    assert f"({target})" in done.stdout


@pytest.mark.parametrize("line", ["for (const vf_record& r : all) {", "auto x = facts::recordings_of(*outcome.facts);"])
def test_reading_recordings_behind_the_facts_fails(root: Path, tmp_path: Path, line: str) -> None:
    done = run_gate(root, "check_layers", write(tmp_path, HEADERS | {"src/app/run.cc": line + "\n"}))
    assert done.returncode == 1
    assert "src/app/run.cc:1: only src/facts and what lies below it reads recordings" in done.stdout
    for reader in ("src/facts/x.cc", "src/app/run_test.cc"):
        assert run_gate(root, "check_layers", write(tmp_path / reader, HEADERS | {reader: line})).returncode == 0


@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        ("src/app/run.cc", "for (const model::notes::Cut& cut : cuts) {", "only src/facts and what lies below it"),
        ("src/doctor/x.cc", '#include "model/notes.h"', "src/doctor sees the notes, by model/notes.h"),
        ("src/app/run.cc", "auto x = ingest::read_run_folder(folder);", "only src/facts and what lies below it"),
        ("src/plan/stream/x.h", "#include <vramfit/recording.h>", "src/plan sees the layout of a record"),
        ("src/doctor/x.cc", "#include <nlohmann/json.hpp>", "src/doctor has types where others have JSON"),
        ("src/model/x.h", "#include <nlohmann/json_fwd.hpp>", "src/model has types where others have JSON"),
    ],
)
def test_notes_and_json_behind_the_facts_fail(root: Path, tmp_path: Path, source: str, line: str, said: str) -> None:
    done = run_gate(root, "check_layers", write(tmp_path, HEADERS | {source: line + "\n"}))
    assert done.returncode == 1
    assert f"{source}:1: {said}" in done.stdout


RECORDED = HEADERS | {
    "include/vramfit/recording.h": "",
    "src/model/recording.h": '#include <vramfit/recording.h>\n#include "model/notes.h"\n',
    "src/facts/recordings.h": '#include "model/recording.h"\n',
    "src/facts/run_facts.h": "namespace vramfit::model {\nstruct Recording;\n}\n",
    "src/job/run_json.h": "#include <string>\n",
    "src/app/run.cc": '#include "app/run.h"\n#include "facts/run_facts.h"\n#include "job/run_json.h"\n',
}


def test_what_is_only_named_is_not_seen(root: Path, tmp_path: Path) -> None:
    done = run_gate(root, "check_layers", write(tmp_path, RECORDED))
    assert (done.returncode, done.stdout) == (0, "includes and imports follow the rooms\n")


@pytest.mark.parametrize(
    ("header", "text", "seen"),
    [
        (
            "src/facts/run_facts.h",
            '#include "facts/recordings.h"\n',
            "src/app/run.cc:2: src/app sees the layout of a record, by facts/run_facts.h > facts/recordings.h"
            " > model/recording.h > vramfit/recording.h",
        ),
        (
            "src/facts/run_facts.h",
            '#include "model/recording.h"\n',
            "src/app/run.cc:2: src/app sees the notes, by facts/run_facts.h > model/recording.h > model/notes.h",
        ),
        (
            "src/job/run_json.h",
            "#include <nlohmann/json_fwd.hpp>\n",
            "src/app/run.cc:3: src/app sees JSON, by job/run_json.h > nlohmann/json_fwd.hpp",
        ),
    ],
)
def test_what_headers_lead_to_is_seen(root: Path, tmp_path: Path, header: str, text: str, seen: str) -> None:
    done = run_gate(root, "check_layers", write(tmp_path, RECORDED | {header: text}))
    assert done.returncode == 1
    assert seen in done.stdout.splitlines()


def test_a_room_that_the_documentation_does_not_know_fails(root: Path, tmp_path: Path) -> None:
    done = run_gate(root, "check_layers", write(tmp_path, HEADERS | {"src/misc/all.cc": ""}))
    assert done.returncode == 1
    assert "src/misc is not a room" in done.stdout


HOOKS = {
    "python/vramfit/__init__.py": "def mark():\n    from vramfit.base import recorder\n",
    "python/vramfit/install.py": "from vramfit.apply import micro_batch\nfrom vramfit.steer.cut import cutter\n",
    "python/vramfit/base/notes.py": "import json\nfrom vramfit.contract import notes as said\n",
    "python/vramfit/steer/cut.py": "from vramfit.base import notes\nfrom vramfit.observe.loaders import Pass\n",
}


def test_imports_that_follow_the_packages_pass(root: Path, tmp_path: Path) -> None:
    assert run_gate(root, "check_layers", write(tmp_path, HOOKS)).returncode == 0


@pytest.mark.parametrize(
    ("source", "statement", "name"),
    [
        ("base/events.py", "from vramfit.steer import cut", "vramfit.steer.cut (steer)"),
        ("observe/phases.py", "import vramfit.steer.cut", "vramfit.steer.cut (steer)"),
        ("steer/loops.py", "def f():\n    from vramfit.apply import plan", "vramfit.apply.plan (apply)"),
        ("values/mode.py", "from vramfit import install", "vramfit.install (start)"),
        ("observe/phases.py", "from .. import apply", "vramfit.apply (apply)"),
        ("observe/phases.py", "from ..apply import lora", "vramfit.apply.lora (apply)"),
        ("observe/phases.py", 'load("vramfit.apply.lora")', "vramfit.apply.lora (apply)"),
        ("hook/sitecustomize.py", "from vramfit.base import notes", "vramfit.base.notes (base)"),
    ],
)
def test_an_import_against_the_packages_fails(
    root: Path, tmp_path: Path, source: str, statement: str, name: str
) -> None:
    done = run_gate(root, "check_layers", write(tmp_path, HOOKS | {f"python/vramfit/{source}": statement}))
    assert done.returncode == 1
    line = statement.count("\n") + 1
    assert f"python/vramfit/{source}:{line}: {source.split('/')[0]} may not import {name}" in done.stdout


def test_a_package_that_the_documentation_does_not_know_fails(root: Path, tmp_path: Path) -> None:
    done = run_gate(root, "check_layers", write(tmp_path, HOOKS | {"python/vramfit/misc/all.py": ""}))
    assert "misc is not a package" in done.stdout


ROOMS = "| folder | what | may include |\n|---|---|---|\n"
PACKAGES = "| package | what | may import |\n|---|---|---|\n"


@pytest.mark.parametrize(("told", "code"), [("steer", 1), ("steer values", 0), ("nothing more", 1), ("all", 0)])
def test_the_table_of_packages_is_what_is_enforced(root: Path, tmp_path: Path, told: str, code: int) -> None:
    table = (
        PACKAGES + f"| `steer/` | x | nothing more |\n| `values/` | x | nothing more |\n| `diagnose/` | x | {told} |\n"
    )
    hooks = {f"python/vramfit/{name}/x.py": "" for name in ("steer", "values")}
    hooks["python/vramfit/diagnose/x.py"] = "from vramfit.values import x\n"
    done = run_gate(root, "check_layers", write(tmp_path, hooks | {"docs/architecture.md": table}))
    assert (done.returncode, "diagnose may not import vramfit.values" in done.stdout) == (code, bool(code)), done.stdout


def test_a_package_without_a_row_fails(root: Path, tmp_path: Path) -> None:
    tree = write(tmp_path, {"docs/architecture.md": PACKAGES, "python/vramfit/apply/x.py": ""})
    assert "apply is not a package of docs/architecture.md" in run_gate(root, "check_layers", tree).stdout


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ('load("vramfit." + "apply.lora")', "vramfit.apply.lora (apply)"),
        ('load("vramfit." + name)', "vramfit.x (start)"),
        ('load(f"vramfit.apply.{name}")', "vramfit.apply.x (apply)"),
        ('importlib.import_module("..apply.lora", __package__)', "vramfit.apply.lora (apply)"),
        ('import_module(f"..{name}.lora", __package__)', "vramfit.x.lora (start)"),
    ],
)
def test_an_import_that_is_put_together_fails(root: Path, tmp_path: Path, statement: str, name: str) -> None:
    done = run_gate(root, "check_layers", write(tmp_path, HOOKS | {"python/vramfit/observe/x.py": statement}))
    assert f"python/vramfit/observe/x.py:1: observe may not import {name}" in done.stdout


OF_ITS_OWN = "an include stands on a line of its own, with the name of its header"


@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        ("src/plan/x.cc", '#include "../../include/vramfit/recording.h"', "src/plan sees the layout of a record"),
        ("src/plan/x.cpp", "#include <vramfit/recording.h>", "src/plan sees the layout of a record"),
        ("src/plan/x.inc", '#include "app/run.h"', "src/plan may not include"),
        ("src/plan/x.cc", "#include HEADER", OF_ITS_OWN),
        ("src/plan/x.cc", '/* x */ #include "app/run.h"', OF_ITS_OWN),
        ("src/plan/x.cc", '# /* x */ include "app/run.h"', OF_ITS_OWN),
        ("src/plan/x.cc", '%:include "app/run.h"', OF_ITS_OWN),
        ("src/plan/x.cc", '#include_next "app/run.h"', OF_ITS_OWN),
        ("src/plan/x.cc", '#import "app/run.h"', OF_ITS_OWN),
        ("src/plan/x.cc", '#\\\ninclude "app/run.h"', OF_ITS_OWN),
        ("src/plan/x.cc", '# /*\n*/ include "app/run.h"', OF_ITS_OWN),
        ("src/plan/x.cc", '#inc\\\nlude "app/run.h"', OF_ITS_OWN),
        ("src/plan/x.cc", 'import "app/run.h";', OF_ITS_OWN),
        ("src/plan/x.cc", '#include "base/x.inl"', "base/x.inl is not called as sources are"),
        ("src/plan/x.cc", '#include "plan/x_test.h"', "plan/x_test.h is there for tests"),
        ("src/plan/x.cc", '#include "../../bench/x.h"', "src/plan may not include bench/x.h (no room)"),
    ],
)
def test_an_include_is_seen_however_it_is_written(
    root: Path, tmp_path: Path, source: str, line: str, said: str
) -> None:
    headers = HEADERS | {
        name: "" for name in ("include/vramfit/recording.h", "src/base/x.inl", "src/plan/x_test.h", "bench/x.h")
    }
    done = run_gate(root, "check_layers", write(tmp_path, headers | {source: line + "\n"}))
    assert done.returncode == 1
    assert f"{source}:1: {said}" in done.stdout


def test_the_table_of_rooms_is_what_is_enforced(root: Path, tmp_path: Path) -> None:
    rows = {name: "nothing" for name in ("include/vramfit", "virtual_gpu", "recorder", "src/base")}
    rows |= {"virtual_gpu": "include", "src/model": "base", "src/app": "model"}

    def find_wrong(**others: str) -> str:
        told = rows | {name.replace("_", "/"): row for name, row in others.items()}
        table = ROOMS + "".join(f"| `{name}/` | x | {row} |\n" for name, row in told.items() if row)
        return run_gate(root, "check_layers", write(tmp_path, HEADERS | {"docs/architecture.md": table})).stdout

    assert find_wrong() == "includes and imports follow the rooms\n"
    assert "src/model may not include src/base/bytes.h (src/base)" in find_wrong(src_model="nothing")
    assert "src/app may use everything, which is in no row" in find_wrong(src_app="model everything")
    assert "src/model is not a room of docs/architecture.md" in find_wrong(src_model="")


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        ("ROOMS model", ""),
        ("ROOMS model TEST_ROOMS ingest", ""),
        ("ROOMS model job", "src/store/sources.cmake: CMake links src/store with src/job, which it may not include"),
        ("ROOMS model TEST_ROOMS app", "CMake links tests of src/store with src/app"),
        ("ROOMS model SOURCES x_test.cc", "src/store/sources.cmake: x_test.cc is there for tests"),
    ],
)
def test_what_cmake_links_follows_the_rooms(root: Path, tmp_path: Path, lists: str, said: str) -> None:
    uses = {"src/store/x.cc": '#include "model/card.h"\n#include "base/bytes.h"\n'}
    tree = write(tmp_path, HEADERS | uses | {"src/store/sources.cmake": f"vramfit_room(store\n  {lists})\n"})
    done = run_gate(root, "check_layers", tree)
    assert (done.returncode, said in done.stdout) == (int(bool(said)), True), done.stdout


def test_an_edge_that_nothing_uses_fails(root: Path, tmp_path: Path) -> None:
    uses = {"src/store/x.cc": '#include "base/bytes.h"\n', "src/store/x_test.cc": '#include "model/card.h"\n'}
    tree = write(tmp_path, HEADERS | uses | {"src/store/sources.cmake": "vramfit_room(store ROOMS model)\n"})
    assert run_gate(root, "check_layers", tree).stdout == (
        "docs/architecture.md: no file of src/store includes anything of src/model\n"
    )
