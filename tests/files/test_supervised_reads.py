"""Reads that a supervised job does without asking (include/vramfit/plain_folders.h): they see what the job changed, and
nothing can be written by the same way."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from product import ROOT
from test_layer import PYTHON, Folder, works

HEADER = (ROOT / "include" / "vramfit" / "plain_folders.h").read_text()
KEYS = {name: int(value, 16) for name, value in re.findall(r"#define (VF_PLAIN_\w+) (0x\w+)ull", HEADER)}

CALLS = f"""
import ctypes, os, stat, sys
call = ctypes.CDLL(None, use_errno=True).syscall
call.restype = ctypes.c_long
OPENAT, STATUS, HERE = 257, 262, -100
READ, ASK = {KEYS["VF_PLAIN_READ"]}, {KEYS["VF_PLAIN_ASK"]}
def open_plain(path, flags, key=READ):
    words = [ctypes.c_long(word) for word in (OPENAT, HERE)]
    rest = [ctypes.c_long(word) for word in (flags, 0o600, 0)]
    return call(*words, path and os.fsencode(path), *rest, ctypes.c_ulong(key))
"""


@pytest.fixture
def folder() -> Iterator[Folder]:
    if not works("supervised", 0):
        pytest.skip("this machine gives no such layer")
    with Folder() as made:
        yield made


def run(folder: Folder, text: str) -> list[str]:
    done = folder.inside("supervised", PYTHON, "-c", CALLS + text)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_what_says_that_it_only_reads_can_not_write(folder: Folder) -> None:
    (folder.path / "mine").write_text("mine")
    lines = run(
        folder,
        """
here = os.getcwd()
print(os.read(open_plain(here + "/mine", os.O_RDONLY), 9))
for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND, os.O_PATH):
    opened = open_plain(here + "/mine", flags)
    try:
        os.write(opened, b"lost")
        os.fchmod(opened, 0o777)
        print("written")
    except OSError:
        print("refused")
print(open_plain(here + "/new", os.O_RDONLY | os.O_CREAT) >= 0, os.path.exists("new"))
print(open_plain(here, os.O_RDWR | os.O_TMPFILE) >= 0)
""",
    )
    assert lines[0] == "b'mine'"
    assert lines[1:6] == ["written", "written", "refused", "written", "refused"], "into the layer, not the folder"
    assert lines[6:] == ["True True", "True"]
    assert [path.name for path in folder.path.iterdir()] == ["mine"]
    assert (folder.path / "mine").read_text() == "mine"
    assert (folder.path / "mine").stat().st_mode & 0o777 == 0o644


def test_the_table_of_plain_folders_can_not_be_written_to(folder: Folder) -> None:
    lines = run(
        folder,
        """
import mmap
table = open_plain(None, os.O_RDONLY, ASK)
print(os.fstat(table).st_size > 4096)
for access in (mmap.ACCESS_READ, mmap.ACCESS_WRITE):
    try:
        mmap.mmap(table, 4096, access=access).close(); print("mapped")
    except PermissionError:
        print("refused")
try:
    os.write(os.open(f"/proc/self/fd/{table}", os.O_RDWR), b"x"); print("written")
except OSError:
    print("refused")
""",
    )
    assert lines == ["True", "mapped", "refused", "refused"]


# Every way of changing a place is looked at from above, from inside, and by way of links, each read twice before it.
CHANGES = """
def see(*paths):
    told = []
    for path in paths:
        for look in (os.stat, os.lstat, os.listdir, os.readlink, lambda path: open(path).read(),
                     lambda path: os.access(path, os.R_OK)):
            try:
                value = look(path)
                if isinstance(value, os.stat_result):
                    value = f"{stat.S_IFMT(value.st_mode):o} {value.st_size if stat.S_ISREG(value.st_mode) else 0}"
                told.append(str(sorted(value) if isinstance(value, list) else value))
            except OSError as problem:
                told.append(type(problem).__name__)
    return " ".join(told)

here = os.getcwd()
places = [f"{here}/{name}" for name in (
    "data", "data/deep", "data/deep/file", "data/deep/other", "link", "link/file", "link/other", "far", "far/deep/file",
    "new", "new/file", "file-link", "data/deep/../deep/file")]
places += [os.path.relpath(place) for place in places]
changes = [
    lambda: None,
    lambda: open(here + "/data/deep/file", "a").write("more"),
    lambda: open(here + "/data/deep/other", "w").write("other"),
    lambda: os.rename(here + "/data/deep/file", here + "/new"),
    lambda: os.rename(here + "/new", here + "/link/file"),
    lambda: os.rename(here + "/data", here + "/new"),
    lambda: os.mkdir(here + "/data"),
    lambda: os.replace(here + "/second-link", here + "/link"),
    lambda: os.rename(here + "/new/deep", here + "/data/deep"),
    lambda: (os.remove(here + "/link"), os.mkdir(here + "/link"), open(here + "/link/file", "w").write("own")),
    lambda: (os.remove(here + "/far"), os.symlink(here + "/new", here + "/far")),
    lambda: __import__("shutil").rmtree(here + "/data"),
]
for number, change in enumerate(changes):
    change()
    print(number, see(*places))
    print(number, see(*places))
"""


def test_what_the_job_changes_is_seen_by_reads_at_once(folder: Folder) -> None:
    (folder.path / "data" / "deep").mkdir(parents=True)
    (folder.path / "data" / "deep" / "file").write_text("file")
    (folder.path / "second").mkdir()
    (folder.path / "second" / "file").write_text("second")
    for name, target in (("link", "data/deep"), ("far", "data"), ("second-link", "second"), ("file-link", "link/file")):
        (folder.path / name).symlink_to(target)
    before = folder.tree()
    inside = run(folder, CHANGES)
    assert folder.tree() == before
    plain = folder.plain(PYTHON, "-c", CALLS + CHANGES)
    assert plain.returncode == 0, plain.stderr
    assert inside == plain.stdout.splitlines()


def test_a_name_below_an_open_folder_is_not_one_below_the_working_folder(folder: Folder) -> None:
    for place in ("", "other/"):
        (folder.path / place / "inner").mkdir(parents=True)
        (folder.path / place / "file").write_text(f"in {place}")
        (folder.path / place / "inner" / "file").write_text(f"inner of {place}")
    lines = run(
        folder,
        """
other = os.open("other", os.O_RDONLY)
for name in ("file", "inner/file"):
    os.stat(name); os.stat(os.path.abspath(name))
    print(os.read(os.open(name, os.O_RDONLY, dir_fd=other), 99).decode(), os.stat(name, dir_fd=other).st_size)
""",
    )
    assert lines == ["in other/ 9", "inner of other/ 15"]


def test_a_job_asks_once_for_a_folder(folder: Folder) -> None:
    """Who asks waits: it gives up the processor, which a read that the kernel answers does not."""
    for i in range(50):
        (folder.path / f"{i}.txt").write_text(str(i))
    text = """
import resource
here = os.getcwd()
folder = os.open(here, os.O_RDONLY)
def waits(start, **where):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    for _ in range(10):
        for i in range(50):
            os.stat(f"{start}{i}.txt", **where); os.close(os.open(f"{start}{i}.txt", os.O_RDONLY, **where))
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before
print(waits(here + "/"), waits(""), waits("", dir_fd=folder))
"""
    absolute, relative, by_descriptor = map(int, run(folder, text)[0].split())
    assert absolute < 100
    assert relative < 100
    assert by_descriptor >= 1000, "these are asked for"
