"""Every gate on a case that it must pass and on a known-bad one that it must fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


def run_gate(root: Path, name: str, tree: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, root / "tools" / name, tree], capture_output=True, text=True)


def write(tree: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    return tree


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
    "src/report/run_json.h": "#include <string>\n",
    "src/app/run.cc": '#include "app/run.h"\n#include "facts/run_facts.h"\n#include "report/run_json.h"\n',
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
            "src/report/run_json.h",
            "#include <nlohmann/json_fwd.hpp>\n",
            "src/app/run.cc:3: src/app sees JSON, by report/run_json.h > nlohmann/json_fwd.hpp",
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


STATES = {
    "python/vramfit/base/process.py": "import os\n_owned = []\nos.register_at_fork(after_in_child=_owned.clear)\n",
    "python/vramfit/observe/phases.py": "import re\nfrom vramfit.base import process\n_WORDS = {'test'}\n"
    "_WORD = re.compile('x')\nclass _State:\n    def __init__(self):\n        self.told = []\n"
    "_state = process.own(_State)\ndef tell():\n    _state.told.append(1)\n    words = []\n    words.append(2)\n",
}


@pytest.mark.parametrize(("told", "code"), [("steer observe", 1), ("steer values observe", 0), ("nothing more", 1)])
def test_a_table_of_packages_that_says_another_thing_fails(root: Path, tmp_path: Path, told: str, code: int) -> None:
    row = f"| `diagnose/` | what looks for causes while a job runs | {told} |\n"
    done = run_gate(root, "check_layers", write(tmp_path, {"docs/architecture.md": row}))
    assert (done.returncode, "diagnose may import" in done.stdout) == (code, bool(code)), done.stdout


def test_what_the_process_owns_may_change(root: Path, tmp_path: Path) -> None:
    done = run_gate(root, "check_python_state", write(tmp_path, STATES))
    assert (done.returncode, done.stdout) == (0, "what the hooks remember is owned by the process\n")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("_told: set[str] = set()\n", 1, "_told can change"),
        ("if True:\n    _told = []\n", 2, "_told can change"),
        ("class C: pass\nc = C()\n", 2, "c can change"),
        ("import threading\n_LOCK = threading.RLock()\n", 2, "_LOCK can change"),
        ("_WORDS = {}\ndef f():\n    _WORDS['a'] = 1\n", 3, "_WORDS is a constant, and changed"),
        ("from vramfit.steer import cut\ndef f():\n    cut.LIMITS.append(1)\n", 3, "LIMITS is a constant, and changed"),
        ("from vramfit.steer import cut\ndef f():\n    cut.seen = 1\n", 3, "of the module cut is set from outside"),
        ("_known = find()\ndef f():\n    _known.append(1)\n", 3, "_known is changed"),
        ("class C:\n    count = 0\ndef f():\n    C.count += 1\n", 4, "the class C remembers something"),
        ("n = 0\ndef f():\n    global n\n    n = 1\n", 3, "`global`"),
        ("def f():\n    n = 0\n    def g():\n        nonlocal n\n        n = 1\n    return g\n", 4, "`nonlocal`"),
        (
            "def f():\n    seen = set()\n    def g(x):\n        seen.add(x)\n    return g\n",
            4,
            "seen is remembered by g",
        ),
        ("def f(seen=[]):\n    seen.append(1)\n", 1, "a default of f can change"),
        ("def f():\n    f.count = 1\n", 2, "the function f remembers something"),
        ("import os\nos.register_at_fork(after_in_child=print)\n", 2, "alone follows forks"),
    ],
)
def test_what_the_process_does_not_own_fails(root: Path, tmp_path: Path, text: str, line: int, said: str) -> None:
    others = {"python/vramfit/steer/cut.py": "LIMITS = [1]\n", "python/vramfit/observe/bad.py": text}
    done = run_gate(root, "check_python_state", write(tmp_path, STATES | others))
    assert done.returncode == 1
    assert f"python/vramfit/observe/bad.py:{line}: " in done.stdout and said in done.stdout


PRIVATE = {
    "python/vramfit/private/torch.py": "import torch\nlazy_call = torch.cuda._lazy_call\n",
    "python/vramfit/steer/cut.py": "import sys\nfrom vramfit.base import process\n"
    "from vramfit.private import torch as of_torch\n"
    "class _State:\n    def __init__(self):\n        self._told = 1\n_state = process.own(_State)\n"
    "class _Base:\n    def _know(self):\n        return self._own\n"
    "class Own(_Base, list):\n    def __getattr__(self, name):\n        return self._know if name == '_own' else 0\n"
    "class Mode(of_torch.dispatch_mode.get()):\n    def __see(self):\n        'Of _version.'\n        self.__see()\n"
    "def f(pair, loader):\n    of_torch.lazy_call(f)\n    loader._vramfit_pass = _state._told\n"
    "    return sys._getframe(1), pair._fields, getattr(pair, '__dict__', None)\n",
}


def test_private_names_in_their_place_pass(root: Path, tmp_path: Path) -> None:
    done = run_gate(root, "check_private_names", write(tmp_path, PRIVATE))
    assert (done.returncode, done.stdout) == (0, "private names of libraries stand in python/vramfit/private\n")


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ("import torch\ntorch.cuda._lazy_call(f)\n", 2, "torch.cuda._lazy_call"),
        ("def f(loader):\n    loader._index_sampler = 1\n", 2, "loader._index_sampler"),
        ("def f():\n    from torch.utils._pytree import tree_map\n", 2, "_pytree"),
        ("from torch.overrides import _push_mode\n", 1, "_push_mode"),
        ("import jax._src.xla_bridge\n", 1, "_src"),
        ("def f(t):\n    return getattr(t, '_local_tensor', None)\n", 2, '"_local_tensor"'),
        ("def f(t):\n    return vars(t)['_version']\n", 2, '"_version"'),
        ("def f(t):\n    return t.__dict__['_version']\n", 2, '"_version"'),
        ("def f(t):\n    del t.__dict__['_version']\n", 2, '"_version"'),
        ("import operator\nget = operator.attrgetter('grad_fn._saved_self')\n", 2, '"_saved_self"'),
        ("import operator\ncall = operator.methodcaller('_apply')\n", 2, '"_apply"'),
        ("import sys\ndynamo = sys.modules.get('torch._dynamo')\n", 2, '"_dynamo"'),
        ("import importlib\nname = 'x'\nof = importlib.import_module(f'torch._{name}')\n", 3, '"_x"'),
        ("def f(t, name):\n    return getattr(t, '_' + name)\n", 2, '"_x"'),
        ("def f(node):\n    return [name for name in dir(node) if name.startswith('_saved_')]\n", 2, '"_saved_"'),
        ("def f(log_softmax, x):\n    return log_softmax(x, _stacklevel=5)\n", 2, "_stacklevel="),
        ("import torch\nclass M(torch.nn.Module):\n    def f(self):\n        self._buffers\n", 4, "self._buffers"),
        ("import torch\nclass M(torch.nn.Module):\n    def _apply(self, f):\n        pass\n", 3, "M._apply"),
        ("import torch\nclass M(torch.nn.Module):\n    pass\nclass N(M):\n    _version = 2\n", 5, "N._version"),
        (
            "from vramfit.steer.known import M\nclass N(M):\n    def f(self):\n        self._buffers\n",
            4,
            "self._buffers",
        ),
        ("class A:\n    def f(self, module):\n        def g(self):\n            self._buffers\n", 4, "self._buffers"),
        ("def wrapped(self):\n    return self._buffers\n", 2, "self._buffers"),
        ("import ctypes\ndef f(x):\n    return ctypes.c_long.from_address(id(x) + 16).value\n", 3, "id(x) + 16"),
        ("def f(t):\n    match t:\n        case object(_version=1):\n            pass\n", 3, "_version="),
    ],
)
def test_a_private_name_elsewhere_fails(root: Path, tmp_path: Path, text: str, line: int, name: str) -> None:
    known = "import torch\nclass M(torch.nn.Module):\n    pass\n"
    others = {"python/vramfit/steer/known.py": known, "python/vramfit/steer/bad.py": text}
    done = run_gate(root, "check_private_names", write(tmp_path, PRIVATE | others))
    assert done.returncode == 1
    assert f"python/vramfit/steer/bad.py:{line}: {name} is private" in done.stdout


@pytest.mark.parametrize(
    "folder", ["/ro" + "ot/cache", "/wo" + "rk/main", "/ho" + "me/anna/x", "../sha" + "red/design.md"]
)
def test_a_machines_own_folder_fails(root: Path, tmp_path: Path, folder: str) -> None:
    done = run_gate(root, "check_paths", write(tmp_path, {"docs/x.md": f"first\nsee {folder}\n"}))
    assert done.returncode == 1
    assert done.stdout.startswith("docs/x.md:2: names ")


def test_folders_that_every_machine_has_pass(root: Path, tmp_path: Path) -> None:
    text = "/dev/shm/vramfit.1 /usr/bin/env $HOME/.cache net/work/x ~/x /home/me/train.py https://a.org/root/x"
    assert run_gate(root, "check_paths", write(tmp_path, {"a.py": text})).returncode == 0


@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        ("src/plan/x.cc", '#include "../../include/vramfit/recording.h"', "src/plan sees the layout of a record"),
        ("src/plan/x.cpp", "#include <vramfit/recording.h>", "src/plan sees the layout of a record"),
        ("src/plan/x.inc", '#include "app/run.h"', "src/plan may not include"),
        ("src/plan/x.cc", "#include HEADER", "an include names its header, no macro"),
    ],
)
def test_an_include_is_seen_however_it_is_written(
    root: Path, tmp_path: Path, source: str, line: str, said: str
) -> None:
    headers = HEADERS | {"include/vramfit/recording.h": ""}
    done = run_gate(root, "check_layers", write(tmp_path, headers | {source: line + "\n"}))
    assert done.returncode == 1
    assert f"{source}:1: {said}" in done.stdout


def test_a_row_of_the_table_of_rooms_that_says_another_thing_fails(root: Path, tmp_path: Path) -> None:
    row = "| `src/plan/` | techniques | {} |\n"
    right = write(tmp_path, HEADERS | {"docs/architecture.md": row.format("allocator devices model")})
    assert run_gate(root, "check_layers", right).returncode == 0
    done = run_gate(root, "check_layers", write(tmp_path, {"docs/architecture.md": row.format("model")}))
    assert "docs/architecture.md: src/plan may include allocator devices, not only or not model" in done.stdout


def commit(tree: Path, subject: str, date: str = "2026-12-01T00:00:00Z", body: str = "Because.") -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    text = ["-m", subject, *(["-m", body] if body else [])]
    environment = os.environ | {"GIT_COMMITTER_DATE": date}
    command = ["git", "-C", tree, *who, "commit", "--quiet", "--allow-empty", *text]
    subprocess.run(command, check=True, env=environment)


@pytest.mark.parametrize(
    "subject",
    [
        "Plan",
        "Plan: what is next",
        "Plan what is next",
        "Plan tells what is open",
        "format",
        "Lines of it fit their page",
        "Fix",
        "A word too many " + 5 * "and more of it ",
    ],
)
def test_a_subject_that_says_nothing_or_too_much_fails(root: Path, tmp_path: Path, subject: str) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    commit(tmp_path, "Plans of a release are read by the next one")
    assert run_gate(root, "check_subjects", tmp_path).stdout == "1 subjects say what changed\n"
    commit(tmp_path, subject)
    done = run_gate(root, "check_subjects", tmp_path)
    assert (done.returncode, subject.strip() in done.stdout) == (1, True)


def test_subjects_of_before_the_check_are_left_alone(root: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    commit(tmp_path, "Plan", date="2026-11-01T00:00:00Z")
    assert run_gate(root, "check_subjects", tmp_path).stdout == "0 subjects say what changed\n"


def test_a_commit_without_a_reason_fails(root: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    commit(tmp_path, "Plans of a release are read by the next one", body="")
    done = run_gate(root, "check_subjects", tmp_path)
    assert (done.returncode, "gives no reason in its body" in done.stdout) == (1, True)


def test_where_there_is_no_history_no_subject_is_called_good(root: Path, tmp_path: Path) -> None:
    done = run_gate(root, "check_subjects", tmp_path)
    assert (done.returncode, done.stdout) == (0, "no history is here: no subject was looked at\n")


def test_badly_formatted_cpp_fails(root: Path, tmp_path: Path) -> None:
    style = f"--style=file:{root / '.clang-format'}"
    good, bad = tmp_path / "good.cc", tmp_path / "bad.cc"
    good.write_text("int f(int* p) { return *p; }\n")
    bad.write_text("int f(int *p)\n{ return *p ; }\n")
    assert subprocess.run(["clang-format", style, "--dry-run", "-Werror", good], capture_output=True).returncode == 0
    assert subprocess.run(["clang-format", style, "--dry-run", "-Werror", bad], capture_output=True).returncode != 0


def test_a_use_after_move_fails_clang_tidy(root: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.cc"
    bad.write_text(
        "#include <string>\n#include <utility>\n"
        "unsigned long f(std::string text) {\n  std::string other = std::move(text);\n  return text.size();\n}\n"
    )
    program = Path(sys.executable).parent / "clang-tidy"
    command = [program, "--quiet", f"--config-file={root / '.clang-tidy'}", bad, "--", "-std=c++23"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "bugprone-use-after-move" in done.stdout


def test_badly_written_python_fails(root: Path, tmp_path: Path) -> None:
    ruff = Path(sys.executable).parent / "ruff"
    config = ["--config", str(root / "ruff.toml"), "--no-cache"]
    bad = tmp_path / "bad.py"
    bad.write_text("import os\nx = undefined_name\n")
    done = subprocess.run([ruff, "check", *config, bad], capture_output=True, text=True)
    assert done.returncode == 1
    assert "F401" in done.stdout and "F821" in done.stdout
    ugly = tmp_path / "ugly.py"
    ugly.write_text("x = { 'a':1 }\n")
    assert subprocess.run([ruff, "format", "--check", *config, ugly], capture_output=True).returncode == 1


@pytest.mark.parametrize(
    "made, said",
    [
        ("WideLayer(name='head', classes='many')", '"classes" to "WideLayer" has incompatible type "str"'),
        ("WideLayer(name='head')", 'Missing named argument "classes"'),
        ("WideLayer(name='head', classes=2, rows=3)", 'Unexpected keyword argument "rows"'),
        ("ModuleStates(bytes=[[0, 1, 2]])", 'expected "ModuleBytes"'),
        ("WideLayer(name='head', classes=2)", ""),
    ],
)
def test_a_note_of_other_types_than_the_contracts_fails(root: Path, tmp_path: Path, made: str, said: str) -> None:
    (tmp_path / "writes.py").write_text(f"from vramfit.contract import notes as said\n\nsaid.{made}\n")
    command = [Path(sys.executable).parent / "mypy", f"--config-file={root / 'pyproject.toml'}", "--no-incremental"]
    done = subprocess.run([*command, tmp_path / "writes.py"], cwd=root, capture_output=True, text=True)
    assert done.returncode == (1 if said else 0), done.stdout
    assert said in done.stdout


RUNNER_PROBE = """
import sys
sys.path.insert(0, {tools!r})
from suite.section import read_junit, run_check
from pathlib import Path
print(read_junit([Path({report!r})]))
print(run_check(["false"]), run_check(["true"]))
print(*read_junit([Path({report!r})]).describe_failures(most=2), sep="\\n")
print(*run_check(["bash", "-c", "echo that is wrong; exit 3"]).describe_failures(), sep="\\n")
"""


def test_the_runner_counts_failures_errors_and_skips(root: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="a" name="good"/>'
        '<testcase classname="a" name="bad"><failure message="boom"/></testcase>'
        '<testcase classname="a" name="broken"><error message="no fixture"/></testcase>'
        '<testcase classname="a" name="later"><skipped message="this machine gives no layer"/></testcase>'
        '<testcase classname="g" name="c"><skipped message="/a_test.cc:6&#10;this machine gives no layer"/></testcase>'
        '<testcase classname="g" name="d"><skipped message="/x/a_test.cc:62&#10;this machine is tired"/></testcase>'
        '<testcase classname="a" name="lazy"><skipped message="torch is not installed"/></testcase>'
        '<testcase classname="a" name="off" status="notrun"/></testsuite></testsuites>'
    )
    probe = RUNNER_PROBE.format(tools=str(root / "tools"), report=str(report))
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, env=dict(os.environ))
    assert done.stdout.splitlines() == [
        "1 passed, 5 failed, 2 skipped",
        "0 passed, 1 failed 1 passed, 0 failed",
        "FAILED a.bad: boom",
        "FAILED a.broken: no fixture",
        "and 3 more",
        "that is wrong",
        "exit 3: bash -c echo that is wrong; exit 3",
    ], done.stderr


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


CHOOSES = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from suite import tidy
def chosen(changed):
    return tidy.write_database(Path(sys.argv[2]), True, tidy.choose_objects(changed))
of = lambda name: {tidy.ROOT / name}
print(json.dumps([chosen(changed) for changed in (
    of("src/plan/search/search.h"), of("src/plan/search/search.cc"), of("docs/plan.md"), None)]))
"""


def test_what_was_compiled_from_a_changed_header_is_linted_again(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHOOSES, root / "tools", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    header, source, neither, unknown = (set(files) for files in json.loads(done.stdout))
    assert len(source - neither) == 1 and source < header < unknown
    # What was not built is looked at whatever changed: here, where the run builds no unit test without sanitizers, and
    # no library that only they link.
    assert all("_test.dir/" in file or "/testing/" in file for file in neither), neither


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
