"""tools/set_up on made-up machines, whose package managers write down what they are asked."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from test_bootstrap import add_program, become, link_tools, set_up

ALL_OF_THEM = {"cmake", "ninja-build", "binutils", "util-linux", "python3", "python3-pip"}
HEADERS = {"libcli11-dev", "libfmt-dev", "nlohmann-json3-dev", "zlib1g-dev", "libsqlite3-dev"}
# What `apt-cache policy` offers of names that differ; `*` stands for any other name. That Ubuntu 22.04 has no toml++
# is made up, to see what is said of a package that is nowhere.
OFFERS = {
    "Debian 12": {"g++": "4:12.2.0-3", "cmake": "3.25.1-1", "libboost1.81-dev": "1.81.0-5", "*": "1.0"},
    "Debian 13": {"g++": "4:14.2.0-1", "cmake": "3.31.6-2", "libboost1.81-dev": "(none)", "*": "1.0"},
    "Ubuntu 22.04": {
        "g++": "4:11.2.0-1ubuntu1",
        "g++-12": "12.3.0-1ubuntu1",
        "g++-13": "",
        "g++-14": "",
        "cmake": "3.22.1-1ubuntu1",
        "libboost1.81-dev": "",
        "libtomlplusplus-dev": "",
        "*": "1.0",
    },
    "Ubuntu 24.04": {"g++": "4:13.2.0-7ubuntu1", "cmake": "3.28.3-1build7", "libboost1.81-dev": "", "*": "1.0"},
}


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    folder = link_tools(tmp_path)
    become(folder, 0)
    return folder


def add_apt(folder: Path, offers: dict[str, str]) -> Path:
    """Writes down what is to be installed. `apt-cache` says nothing at all of a name that it does not know."""
    asked = folder.parent / "asked"
    add_program(folder, "apt-get", f'[ "$1" = install ] && shift && printf "%s\\n" "$@" >>{asked}\nexit 0')
    lines = [f"  {name}) offered='{version}' ;;" for name, version in offers.items()]
    text = "\n".join(["offered=", 'case "$2" in', *lines, "esac"])
    add_program(folder, "apt-cache", f'{text}\n[ -z "$offered" ] || printf "%s:\\n  Candidate: %s\\n" "$2" "$offered"')
    return asked


def packages(asked: Path) -> set[str]:
    return {word for word in asked.read_text().split() if not word.startswith("-")}


def add_python(folder: Path) -> Path:
    """One that makes environments: its pip writes down what it is to install."""
    asked, pip = folder.parent / "asked of pip", folder.parent / "pip"
    pip.mkdir()
    add_program(pip, "python", f'[ "$2" = pip ] && shift 3 && printf "%s\\n" "$@" >"{asked}"')
    add_program(folder, "python3", f'[ "$2" != venv ] || {{ mkdir -p "$3/bin" && /bin/cp "{pip}/python" "$3/bin/"; }}')
    return asked


@pytest.mark.parametrize(
    ("distribution", "names"),
    [
        ("Debian 12", {"g++", "libtomlplusplus-dev", "libboost1.81-dev"}),
        ("Debian 13", {"g++", "libtomlplusplus-dev", "libboost-dev"}),
        ("Ubuntu 24.04", {"g++", "libtomlplusplus-dev", "libboost-dev"}),
    ],
)
def test_the_names_are_those_of_the_distribution(root: Path, machine: Path, distribution: str, names: set[str]) -> None:
    asked = add_apt(machine, OFFERS[distribution])
    done = set_up(root, machine, "build")
    assert done.returncode == 0, done.stderr
    assert packages(asked) == names | ALL_OF_THEM | HEADERS | {"python3-venv"}


def test_what_is_too_old_is_taken_newer_or_from_pip(root: Path, machine: Path) -> None:
    asked = add_apt(machine, OFFERS["Ubuntu 22.04"] | {"libtomlplusplus-dev": "3.0"})
    of_pip = add_python(machine)
    done = set_up(root, machine, "build")
    assert done.returncode == 0, done.stderr
    assert packages(asked) == {"g++-12", "libtomlplusplus-dev", "libboost-dev"} | HEADERS | (
        {"ninja-build", "binutils", "util-linux"}
    )
    assert of_pip.read_text().split() == ["--quiet", "cmake"]


def test_what_no_list_has_is_told_and_nothing_is_installed(root: Path, machine: Path) -> None:
    asked = add_apt(machine, OFFERS["Ubuntu 22.04"])
    add_python(machine)
    done = set_up(root, machine, "build")
    assert done.returncode == 2
    assert "for: toml++/toml.h (libtomlplusplus-dev)" in done.stderr
    assert "a wheel of vramfit needs nothing of it" in done.stderr
    assert not asked.exists()


def test_fedoras_names_are_given_to_dnf(root: Path, machine: Path) -> None:
    asked = machine.parent / "asked"
    add_program(machine, "dnf", f'shift && printf "%s\\n" "$@" >>{asked}')
    done = set_up(root, machine, "build")
    assert done.returncode == 0, done.stderr
    assert packages(asked) == {
        *("gcc-c++", "libstdc++-static", "cmake", "ninja-build", "binutils", "util-linux", "python3", "python3-pip"),
        *("cli11-devel", "fmt-devel", "json-devel", "tomlplusplus-devel", "zlib-devel", "sqlite-devel", "boost-devel"),
    }


def test_without_root_pip_gets_what_it_has_and_the_rest_is_asked_for(root: Path, machine: Path) -> None:
    asked = add_apt(machine, OFFERS["Debian 13"])
    become(machine, 1000)
    of_pip = add_python(machine)
    done = set_up(root, machine, "build")
    assert done.returncode == 2
    assert of_pip.read_text().split() == ["--quiet", "cmake", "ninja"]
    (command,) = [line for line in done.stderr.splitlines() if "ask somebody" in line]
    wanted = set(command.partition("apt-get install ")[2].split())
    assert wanted == {"g++", "binutils", "util-linux", "libtomlplusplus-dev", "libboost-dev"} | HEADERS
    assert not asked.exists()


@pytest.mark.parametrize(("version", "code"), [("11", 1), ("12", 0), ("14.2.0", 0)])
def test_a_compiler_that_is_too_old_is_none(root: Path, machine: Path, version: str, code: int) -> None:
    add_program(machine, "g++", f"echo {version}")
    done = subprocess.run([root / "tools" / "compiler"], env={"PATH": str(machine)}, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, "" if code else "g++\n")
    add_program(machine, "g++-13", "echo 13")
    done = subprocess.run([root / "tools" / "compiler"], env={"PATH": str(machine)}, capture_output=True, text=True)
    assert done.stdout == ("g++-13\n" if code else "g++\n")
