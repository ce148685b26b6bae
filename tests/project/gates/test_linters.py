"""clang-format, clang-tidy and ruff each fail on a file that they are for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


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


LISTS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from suite import gates
print(json.dumps(gates.python_files()))
"""


def test_scripts_of_every_folder_are_linted(root: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LISTS, root / "tools"], capture_output=True, text=True, check=True)
    files = set(json.loads(done.stdout))
    assert {"bench/time/run", "packaging/build_wheel", "tools/run_tests", "tests/warm_python.py"} <= files


CHOOSES = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from suite import tidy
def chosen(changed):
    return tidy.write_database(Path(sys.argv[2]), True, tidy.choose_objects(changed))
of = lambda name: {tidy.ROOT / name}
print(json.dumps([chosen(changed) for changed in (
    of("src/plan/search/search.h"), of("src/plan/search/search.cc"), of("docs/plan.md"), None,
    of("python/vramfit/contract/notes/process.py"), of("platforms.json"), of("src/devices/cards.toml"),
    of("recorder/CMakeLists.txt"))]))
"""


def test_what_was_compiled_from_a_changed_header_is_linted_again(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHOOSES, root / "tools", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = [set(files) for files in json.loads(done.stdout)]
    header, source, neither, unknown, contract, platforms, copied, listed = found
    assert len(source - neither) == 1 and source < header < unknown
    # What was not built is looked at whatever changed: here, where the run builds no unit test without sanitizers, and
    # no library that only they link.
    assert all("_test.dir/" in file or "/testing/" in file for file in neither), neither
    # What the build makes headers of is a change of these headers.
    assert neither < contract < unknown and contract == platforms and copied == neither
    # How a folder's files are compiled is said in its list: all of them, and of src none.
    assert neither < listed < unknown
    assert [file for file in listed - contract if "/recorder" in file] and not [
        file for file in listed if "/vramfit_plan." in file
    ]


KEEPS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from suite import section, tidy
section.ROOT = tidy.ROOT = tidy.BUILD = Path.cwd()
tidy.LINTED = tidy.ROOT / "linted"
if "keep" in sys.argv:
    print(tidy.keep_linted(tidy.digest_what_is_looked_at()))
changed, since = tidy.find_changed()
print(since)
print(sorted(path.name for path in changed) if changed is not None else None)
"""


def test_what_was_linted_is_kept_by_who_looked_and_refused_under_other_rules(root: Path, tmp_path: Path) -> None:
    def run(*words: str) -> list[str]:
        command = [sys.executable, "-c", KEEPS, root / "tools", *words]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    def compile_with(options: str) -> None:  # the folder of the build is not among the sources
        entry = {"file": f"{tmp_path}/a.cc", "command": f"g++ -I{tmp_path}/src {options} -o a.o -c {tmp_path}/a.cc"}
        (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))

    compile_with("-O1")
    (tmp_path / ".gitignore").write_text("compile_commands.json\n")
    (tmp_path / "CMakeLists.txt").write_text("project(a)\n")
    (tmp_path / "a.cc").write_text("int a;\n")
    (tmp_path / "a_test.cc").write_text("int a;\n")
    (tmp_path / ".clang-tidy").write_text("Checks: a\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)  # no commit is needed
    assert run() == ["linted tells nothing", "None"]
    assert "holds what was looked at" in run("keep")[0]
    kept = (tmp_path / "linted").read_text()
    assert run() == ["0 files differ from those of linted", "[]"]
    (tmp_path / "a_test.cc").write_text("int b;\n")  # which is not looked at
    (tmp_path / "b.h").write_text("int a;\n")  # new, with what another file holds
    assert run()[1] == "['b.h']"
    (tmp_path / "a.cc").write_text("int c;\n")
    assert run() == ["2 files differ from those of linted", "['a.cc', 'b.h']"]
    compile_with("-O2")  # by another machine: what says so is as it was
    assert run()[1] == "['a.cc', 'b.h']"
    (tmp_path / "CMakeLists.txt").write_text("project(b)\n")
    assert run() == ["other options of the compiler than those of linted", "None"]
    compile_with("-O1")  # whatever it was that changed there
    assert run()[1] == "['CMakeLists.txt', 'a.cc', 'b.h']"
    (tmp_path / ".clang-tidy").write_text("Checks: b\n")
    assert run()[0].startswith("other rules than those of linted")
    (tmp_path / ".clang-tidy").write_text("Checks: a\n")
    assert run()[1] == "['CMakeLists.txt', 'a.cc', 'b.h']"
    (tmp_path / "linted").write_text(kept[:100])  # as a merge that went wrong leaves it
    assert run()[1] == "None"
