"""./vramfit and tools/set_up: on machines that lack things, and on those that lack nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

TOOLS = (
    "bash",
    "env",
    "sh",
    "dirname",
    "readlink",
    "id",
    "find",
    "rm",
    "cat",
    "mktemp",
    "tail",
    "mkdir",
    "touch",
    "mv",
    "awk",
)


def link_tools(tmp_path: Path) -> Path:
    """A folder for a PATH, with the shell's own tools and none of a developer's."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found, name
        (folder / name).symlink_to(found)
    return folder


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    return link_tools(tmp_path)


def add_program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/bash\n{text}\n")
    (folder / name).chmod(0o755)


def become(folder: Path, user: int) -> None:
    (folder / "id").unlink()
    add_program(folder, "id", f"echo {user}")


def set_up(root: Path, path: Path, purpose: str = "test") -> subprocess.CompletedProcess[str]:
    """In a copy: what it gets by pip goes into the clone."""
    clone = path.parent / "clone"
    (clone / "tools").mkdir(parents=True, exist_ok=True)
    for name in ("set_up", "compiler", "packages"):
        shutil.copy(root / "tools" / name, clone / "tools" / name)
    command = [str(clone / "tools" / "set_up"), purpose]
    return subprocess.run(command, env={"PATH": str(path), "HOME": "/"}, capture_output=True, text=True)


def test_without_apt_the_missing_packages_are_named(root: Path, bare_path: Path) -> None:
    done = set_up(root, bare_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "no apt-get or dnf to install them with: " in done.stderr
    for package in ("g++", "cmake", "ninja-build", "libcli11-dev", "libgtest-dev"):
        assert package in done.stderr.split(), package


def test_without_root_or_sudo_the_command_for_somebody_else_is_given(root: Path, bare_path: Path) -> None:
    add_program(bare_path, "apt-get", "exit 1")
    become(bare_path, 1000)
    done = set_up(root, bare_path)
    assert done.returncode == 2
    assert "ask somebody who may to run: apt-get install g++ " in done.stderr
    assert "pip could not install them" in done.stderr  # there is no Python either


def test_the_lists_are_fetched_when_the_first_install_fails(root: Path, bare_path: Path, tmp_path: Path) -> None:
    log = tmp_path / "apt.log"
    marker = tmp_path / "updated"
    add_program(
        bare_path, "apt-get", f'echo "$1" >>{log}\n[ "$1" = update ] && {{ touch {marker}; exit 0; }}\n[ -e {marker} ]'
    )
    become(bare_path, 0)
    done = set_up(root, bare_path)
    assert done.returncode == 0, done.stderr
    assert log.read_text().split() == ["install", "update", "install"]
    assert "installing with apt-get: g++ cmake" in done.stderr


def test_a_failed_install_shows_apts_own_words(root: Path, bare_path: Path) -> None:
    add_program(bare_path, "apt-get", 'echo "E: Unable to locate package g++"; exit 100')
    become(bare_path, 0)
    done = set_up(root, bare_path)
    assert done.returncode == 2
    assert "E: Unable to locate package g++" in done.stderr


@pytest.fixture
def small_clone(root: Path, tmp_path: Path) -> Path:
    """The bootstrap script beside a source tree whose "build" writes a program: nothing is compiled."""
    clone = tmp_path / "a clone"
    (clone / "tools").mkdir(parents=True)
    shutil.copy(root / "vramfit", clone / "vramfit")
    shutil.copy(root / "tools" / "compiler", clone / "tools" / "compiler")
    add_program(clone / "tools", "fetch_torch", 'echo "$PWD $*" >>"$CLONE/fetched"')
    add_program(clone / "tools", "set_up", 'echo set_up >>"$(dirname "$0")/../calls"')
    for name in ("cmake", "include", "abi", "virtual_gpu", "recorder", "src", "python"):
        (clone / name).mkdir()
    (clone / "CMakeLists.txt").write_text("")
    (clone / "CMakePresets.json").write_text("{}")
    tools = tmp_path / "tools"
    tools.mkdir()
    add_program(
        tools,
        "cmake",
        'echo "cmake $*" >>"$CLONE/calls"\n'
        'for i in 1 2 3 4; do echo "[$i/4] Building $i"; done\n'
        '[ -z "$FAIL" ] || { echo "error: no good"; exit 1; }\n'
        'mkdir -p "$CLONE/build/release/stage/bin" && touch "$CLONE/build/release/build.ninja"\n'
        'printf \'#!/bin/bash\\necho "ran $*"; exit 7\\n\' >"$CLONE/build/release/stage/bin/vramfit"\n'
        'chmod +x "$CLONE/build/release/stage/bin/vramfit"',
    )
    return clone


def run_clone(clone: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{clone.parent / 'tools'}:{os.environ['PATH']}"
    environment = dict(os.environ, PATH=path, CLONE=str(clone), **variables)
    return subprocess.run([str(clone / "vramfit"), *words], cwd="/", env=environment, capture_output=True, text=True)


def test_first_use_builds_and_then_becomes_the_program(small_clone: Path) -> None:
    done = run_clone(small_clone, "run", "--gpu", "GTX 1650")
    assert (done.returncode, done.stdout) == (7, "ran run --gpu GTX 1650\n")
    assert "first use" in done.stderr
    for share in (25, 50, 75, 100):
        assert f"vramfit: building: {share // 10 * 10} %\n" in done.stderr
    assert "[4/4] Building 4" in (small_clone / "build" / "release.log").read_text()
    calls = (small_clone / "calls").read_text().splitlines()
    assert [call.split()[0] for call in calls] == ["set_up", "cmake", "cmake"]


def test_a_terminal_has_one_line_that_counts(small_clone: Path) -> None:
    ours, theirs = os.openpty()
    path = f"{small_clone.parent / 'tools'}:{os.environ['PATH']}"
    environment = dict(os.environ, PATH=path, CLONE=str(small_clone))
    subprocess.run([str(small_clone / "vramfit")], env=environment, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    assert "\r\x1b[Kvramfit: building: 50 %\r\x1b[Kvramfit: building: 75 %" in shown
    assert "100 %\r\x1b[Kvramfit: built in" in shown


def test_torch_is_looked_for_beside_the_build_from_where_the_user_is(small_clone: Path) -> None:
    run_clone(small_clone, "run", "--", "python", "a.py")
    assert (small_clone / "fetched").read_text() == f"/ {small_clone}/build/fetching run -- python a.py\n"


def test_second_use_builds_nothing(small_clone: Path) -> None:
    run_clone(small_clone)
    (small_clone / "calls").unlink()
    done = run_clone(small_clone)
    assert (done.returncode, done.stderr) == (7, "")
    assert not (small_clone / "calls").exists()


def test_changed_sources_are_built_again(small_clone: Path) -> None:
    run_clone(small_clone)
    (small_clone / "calls").unlink()
    time.sleep(0.02)
    (small_clone / "src" / "new.cc").write_text("")
    done = run_clone(small_clone)
    assert "the sources changed: rebuilding" in done.stderr
    assert "cmake --build" in (small_clone / "calls").read_text()


def test_a_failed_build_shows_its_end_and_is_tried_again(small_clone: Path) -> None:
    done = run_clone(small_clone, FAIL="1")
    assert done.returncode == 2
    assert "error: no good" in done.stderr and "build/release.log" in done.stderr
    assert run_clone(small_clone).returncode == 7


def test_two_first_uses_at_once_build_once(small_clone: Path) -> None:
    path = f"{small_clone.parent / 'tools'}:{os.environ['PATH']}"
    environment = dict(os.environ, PATH=path, CLONE=str(small_clone))
    both = [
        subprocess.Popen([str(small_clone / "vramfit")], env=environment, stderr=subprocess.DEVNULL) for _ in range(2)
    ]
    assert [process.wait(timeout=30) for process in both] == [7, 7]
    assert (small_clone / "calls").read_text().count("set_up") == 1


def test_a_purpose_that_set_up_does_not_know_is_refused(root: Path) -> None:
    done = subprocess.run([str(root / "tools" / "set_up"), "dev"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "vramfit: set_up knows build, test and fuzz, not dev\n"
