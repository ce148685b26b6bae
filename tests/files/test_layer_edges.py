"""What a job could reach besides the names of files: open files by their links in /proc, shared memory, sockets that
send what nobody looks at."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_layer import KINDS, PYTHON, Folder, works


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
def kind(request: pytest.FixtureRequest) -> tuple[str, int]:
    if not works(*request.param):
        pytest.skip("this machine gives no such layer")
    return request.param


@pytest.fixture
def folder(kind: tuple[str, int]) -> Iterator[Folder]:
    with Folder(kind[1]) as made:
        yield made


def run(folder: Folder, kind: tuple[str, int], text: str) -> list[str]:
    done = folder.inside(kind[0], PYTHON, "-c", text)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


METADATA = """
import ctypes, fcntl, os, struct, sys
def link(number): return f"/proc/self/fd/{number}"
ways = {
    "open": lambda name: link(os.open(name, os.O_RDONLY)),
    "path only": lambda name: link(os.open(name, os.O_PATH)),
    "dev": lambda name: "/dev/fd/%d" % os.open(name, os.O_RDONLY),
    "number": lambda name: f"/proc/{os.getpid()}/fd/{os.open(name, os.O_RDONLY)}",
    "folder": lambda name: "/proc/self/cwd/" + name,
    "root": lambda name: "/proc/self/root" + os.path.abspath(name),
}
for number, (way, path_of) in enumerate(ways.items()):
    name = f"file{number}"
    path = path_of(name)
    try:
        os.chmod(path, 0o600); os.utime(path, (5, 5)); os.setxattr(path, "user.vramfit", b"lost")
    except OSError as problem:
        print(way, problem)
    print(way, oct(os.stat(name).st_mode), int(os.stat(name).st_mtime))
# A file that is not there any more under the name it was opened by; an overlay refuses this.
gone, moved = os.open("gone", os.O_RDONLY), os.open("moved", os.O_RDONLY)
os.remove("gone"); os.rename("moved", "elsewhere")
for number in (gone, moved):
    try:
        os.fchmod(number, 0o600); os.utime(number, (5, 5))
    except OSError as problem:
        pass
try:
    fcntl.ioctl(os.open("file0", os.O_RDONLY), 0x40086602, struct.pack("l", 0x40))  # FS_IOC_SETFLAGS: FS_NODUMP_FL
except OSError as problem:
    print("flags refused")
"""


def look_at(path: Path) -> tuple[object, ...]:
    status = path.stat()
    return status.st_mode, status.st_mtime_ns, status.st_ctime_ns, os.listxattr(path)


def test_metadata_of_open_files_is_the_layers(folder: Folder, kind: tuple[str, int]) -> None:
    names = [f"file{number}" for number in range(6)] + ["gone", "moved"]
    for name in names:
        (folder.path / name).write_text(name)
    folder.give()
    before = {name: look_at(folder.path / name) for name in names}
    lines = run(folder, kind, METADATA)
    assert {name: look_at(folder.path / name) for name in names} == before
    ways = [line for line in lines if line.endswith(" 0o100600 5")]
    assert len(ways) == 6, lines


def test_shared_memory_is_the_jobs_own(folder: Folder, kind: tuple[str, int]) -> None:
    theirs, taken = (Path(f"/dev/shm/{name}-{os.getpid()}") for name in ("vramfit_test_theirs", "vramfit_test_taken"))
    theirs.write_text("theirs")
    taken.write_text("taken")
    theirs.chmod(0o666)
    taken.chmod(0o666)
    listed = sorted(os.listdir("/dev/shm"))
    text = f"""
import glob, mmap, multiprocessing as mp, os
from multiprocessing import shared_memory
def child(name, ready, gate):
    block = shared_memory.SharedMemory(name)
    block.buf[0] = 7
    block.close(); ready.release(); gate.acquire()
for path in ("{theirs}", "{taken}"):
    try:
        os.remove(path)
    except FileNotFoundError:
        pass
block = shared_memory.SharedMemory("{taken.name}", create=True, size=4096)  # the name is free for it
own = shared_memory.SharedMemory(create=True, size=1 << 20)
mp.set_start_method("spawn" if __name__ == "nowhere" else "fork")
ready, gate = mp.Semaphore(0), mp.Semaphore(0)
process = mp.Process(target=child, args=(own.name, ready, gate)); process.start()
ready.acquire(); print(own.buf[0]); gate.release(); process.join(); print(process.exitcode)
print(sorted(os.listdir("/dev/shm")) == sorted([own.name.strip("/"), "{taken.name}"]) or "others too")
os.link("/dev/shm/{taken.name}", "/dev/shm/again"); os.rename("/dev/shm/again", "/dev/shm/last")
print(os.path.exists("/dev/shm/last"), os.statvfs("/dev/shm").f_bavail > 0, os.path.realpath("/dev/./shm/last"))
os.mkdir("/dev/shm/folder"); open("/dev/shm/folder/file", "w").write("x"); os.chdir("/dev/shm/folder")
print(os.getcwd(), open("file").read(), os.listdir("."))
"""
    try:
        lines = run(folder, kind, text)
        assert lines[:2] == ["7", "0"]
        assert lines[3:] == ["True True /dev/shm/last", "/dev/shm/folder x ['file']"], lines
        assert (theirs.read_text(), taken.read_text()) == ("theirs", "taken")
        # Cards of runs and of other tests come and go there meanwhile ("vramfit.", "vramfit-test-").
        left = [name for name in os.listdir("/dev/shm") if not name.startswith(("vramfit.", "vramfit-"))]
        assert sorted(left) == [name for name in listed if not name.startswith(("vramfit.", "vramfit-"))]
    finally:
        theirs.unlink()
        taken.unlink()


SOCKETS = """
import errno, socket
kinds = {
    "packet": (17, socket.SOCK_RAW, 0x300), "old packet": (socket.AF_INET, 10, 0x300),
    "raw": (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP), "raw6": (socket.AF_INET6, socket.SOCK_RAW, 58),
    "sctp": (socket.AF_INET, socket.SOCK_STREAM, 132), "vsock": (40, socket.SOCK_STREAM, 0),
    "uevents": (socket.AF_NETLINK, socket.SOCK_DGRAM, 15),
    "tcp": (socket.AF_INET, socket.SOCK_STREAM, 0), "udp": (socket.AF_INET6, socket.SOCK_DGRAM, 0),
    "unix": (socket.AF_UNIX, socket.SOCK_SEQPACKET, 0), "routes": (socket.AF_NETLINK, socket.SOCK_RAW, 0),
}
for name, words in kinds.items():
    try:
        socket.socket(*words).close(); print(name)
    except OSError as problem:
        pass
print(bool(socket.if_nameindex()))
# To take an interface down, or a route away, is the network's owner's: RTM_DELROUTE of the default route.
import struct
routes = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
routes.send(struct.pack("IHHIIBBBBBBBBI", 28, 25, 5, 1, 0, socket.AF_INET, 32, 0, 0, 0, 0, 0, 0, 0))
answer = routes.recv(4096)
print(errno.errorcode.get(-struct.unpack_from("i", answer, 16)[0]))
"""


def test_a_supervised_job_has_no_socket_that_sends_what_nobody_looks_at() -> None:
    if not works("supervised", 0):
        pytest.skip("this machine gives no such layer")
    with Folder() as folder:
        done = folder.inside("supervised", PYTHON, "-c", SOCKETS)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["tcp", "udp", "unix", "routes", "True", "EPERM"]
        assert json.loads(done.stderr.splitlines()[-1])["written"] == 0


MOVED = """
import os
os.mkdir("b")
os.rename("top", "b/top")
print(sorted(folder for folder, _, files, _ in os.fwalk("b") if files))
print(sorted(path for path, _, files in os.walk("b") if files))
print(os.stat("b/top/left").st_ino == os.fstat(os.open("b/top/left", os.O_RDONLY)).st_ino)
"""


def test_a_folder_that_was_moved_is_the_same_before_and_after_it_is_opened(
    folder: Folder, kind: tuple[str, int]
) -> None:
    for name in ("left", "right/deep"):
        (folder.path / "top" / name).mkdir(parents=True)
        (folder.path / "top" / name / "file").write_text("kept")
    folder.give()
    assert run(folder, kind, MOVED) == [*["['b/top/left', 'b/top/right/deep']"] * 2, "True"]
