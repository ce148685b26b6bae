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
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from suite import section, tidy
tidy.ROOT = Path.cwd()
tidy.LINTED = tidy.ROOT / "linted_commit"
tidy.BUILD = tidy.ROOT
tidy.run_git = lambda *words, folder=None: section.run_git(*words, folder=tidy.ROOT)
if "keep" in sys.argv:
    print(tidy.keep_linted())
changed, since = tidy.find_changed()
print(since)
print(sorted(path.name for path in changed) if changed is not None else None)
"""


def test_the_commit_that_was_linted_is_kept_by_who_looked_and_refused_under_other_rules(
    root: Path, tmp_path: Path
) -> None:
    def git(*words: str) -> str:
        names = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(
            ["git", *names, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.strip()

    def run(*words: str) -> list[str]:
        command = [sys.executable, "-c", KEEPS, root / "tools", *words]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    def commit_all() -> str:
        git("add", "-A")
        git("commit", "-q", "-m", "x")
        return git("rev-parse", "HEAD")

    def compile_with(options: str) -> None:  # not of the commits, as the build's folder is
        entry = {"file": f"{tmp_path}/a.cc", "command": f"g++ -I{tmp_path}/src {options} -o a.o -c {tmp_path}/a.cc"}
        (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))

    compile_with("-O1")
    (tmp_path / ".gitignore").write_text("compile_commands.json\n")
    (tmp_path / "CMakeLists.txt").write_text("project(a)\n")
    (tmp_path / "a.cc").write_text("int a;\n")
    (tmp_path / ".clang-tidy").write_text("Checks: a\n")
    (tmp_path / "linted_commit").write_text("nothing\n")
    git("init", "-q")
    first = commit_all()
    assert run() == ["nothing, which linted_commit names, is not here", "None"]
    (tmp_path / "a.cc").write_text("int b;\n")
    assert "stays as it is" in run("keep")[0], "what was looked at is no commit"
    second = commit_all()
    assert f"now names {second[:10]}" in run("keep")[0]
    kept = (tmp_path / "linted_commit").read_text()
    assert run() == [f"since {second[:10]}", "['linted_commit']"]
    (tmp_path / "a.cc").write_text("int c;\n")
    assert run()[1] == "['a.cc', 'linted_commit']"
    compile_with("-O2")  # by another machine: what says so is as it was
    assert run()[1] == "['a.cc', 'linted_commit']"
    (tmp_path / "CMakeLists.txt").write_text("project(b)\n")
    assert run() == [f"the rules have changed since {second[:10]}: CMakeLists.txt", "None"]
    compile_with("-O1")  # whatever it was that changed there
    assert run()[1] == "['CMakeLists.txt', 'a.cc', 'linted_commit']"
    (tmp_path / ".clang-tidy").write_text("Checks: b\n")
    assert run() == [f"the rules have changed since {second[:10]}: .clang-tidy", "None"]
    third = commit_all()
    (tmp_path / "linted_commit").write_text(kept.replace(second, third))  # by hand
    assert run() == [f"linted_commit was not written under the rules of {third[:10]}", "None"]
    (tmp_path / "linted_commit").write_text(kept.replace(second, first))
    assert run()[0] == f"the rules have changed since {first[:10]}: .clang-tidy"
