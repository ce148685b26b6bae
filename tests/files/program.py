"""A random program of file operations, run in the current folder: python program.py SEED OPERATIONS [absolute]

With `absolute` half of the paths begin at the top, as those of most programs do.
It prints one line an operation, what it gave or the error it got, and at the end the whole tree with its contents. The
same seed gives the same program, so two folders that start alike must give the same text. Only the standard library and
the system's own calls, so that it runs anywhere.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import random
import shutil
import stat
import sys
from collections.abc import Callable

NAMES = ["a", "b", "c", "d.txt", "checkpoint-1", "tmp", "ä b", "link"]


class Program:
    def __init__(self, seed: int, top: str = "") -> None:
        self.random = random.Random(seed)
        self.top = top
        self.paths: list[str] = []  # of this operation

    def path(self) -> str:
        path = os.path.join(*(self.random.choice(NAMES) for _ in range(self.random.choice([1, 1, 2, 2, 3]))))
        self.paths.append(os.path.join(self.top, path) if self.top and self.random.random() < 0.5 else path)
        return self.paths[-1]

    def data(self) -> bytes:
        length = self.random.choice([0, 1, 10, 1000, 70000, 300000])
        byte = self.random.choice([b"\0", b"x", b"y"])
        return byte * length + bytes(str(self.random.randrange(1000)), "ascii")

    def step(self, names: list[str] | None = None) -> str:
        name, self.paths = self.random.choice(names or sorted(OPERATIONS)), []
        try:
            result = OPERATIONS[name](self)
        except OSError as error:
            result = errno.errorcode.get(error.errno or 0, str(error.errno))
        return f"{name} {self.paths} {result}"


def create(run: Program) -> str:
    with open(run.path(), run.random.choice(["wb", "xb"])) as file:
        return str(file.write(run.data()))


def append(run: Program) -> str:
    with open(run.path(), "ab") as file:
        file.write(run.data())
        return str(file.tell())


def change_in_place(run: Program) -> str:
    with open(run.path(), "r+b") as file:
        file.seek(run.random.randrange(200000))
        file.write(run.data())
        return str(file.tell())


def truncate(run: Program) -> str:
    os.truncate(run.path(), run.random.choice([0, 5, 100000]))
    return ""


def rename(run: Program) -> str:
    os.rename(run.path(), run.path())
    return ""


def replace(run: Program) -> str:
    os.replace(run.path(), run.path())
    return ""


def unlink(run: Program) -> str:
    os.unlink(run.path())
    return ""


def mkdir(run: Program) -> str:
    os.mkdir(run.path())
    return ""


def rmdir(run: Program) -> str:
    os.rmdir(run.path())
    return ""


def link(run: Program) -> str:
    os.link(run.path(), run.path(), follow_symlinks=False)
    return ""


def swap_symlink(run: Program) -> str:
    target, path = run.random.choice(NAMES), run.path()
    os.symlink(target, path + ".new")
    os.replace(path + ".new", path)
    return os.readlink(path)


def chmod(run: Program) -> str:
    os.chmod(run.path(), run.random.choice([0o700, 0o755, 0o750]))
    return ""


def utime(run: Program) -> str:
    path = run.path()
    os.utime(path, (1, 1000 + run.random.randrange(1000)))
    return str(os.stat(path).st_mtime)


def write_through_memory(run: Program) -> str:
    with open(run.path(), "r+b") as file:
        if os.fstat(file.fileno()).st_size < 20:
            return "small"
        with mmap.mmap(file.fileno(), 0) as memory:
            memory[3:7] = b"mmap"
            memory.flush()
            return str(len(memory))


def unnamed(run: Program) -> str:
    folder, path = run.random.choice([".", *NAMES]), run.path()
    number = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o644)
    try:
        os.write(number, run.data())
        os.link(f"/proc/self/fd/{number}", path, src_dir_fd=0, follow_symlinks=True)
    finally:
        os.close(number)
    return ""


def copy(run: Program) -> str:
    with open(run.path(), "rb") as source, open(run.path(), "wb") as target:
        return str(os.copy_file_range(source.fileno(), target.fileno(), 50000))


def listing(run: Program) -> str:
    return " ".join(
        f"{entry.name}:{'d' if entry.is_dir(follow_symlinks=False) else 'l' if entry.is_symlink() else 'f'}"
        for entry in sorted(os.scandir(run.random.choice([".", run.path()])), key=lambda entry: entry.name)
    )


def status(run: Program) -> str:
    found = os.lstat(run.path())
    links = found.st_nlink if stat.S_ISREG(found.st_mode) else 0
    return f"{found.st_mode:o} {found.st_size if not stat.S_ISDIR(found.st_mode) else 0} {links}"


def read(run: Program) -> str:
    with open(run.path(), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def access(run: Program) -> str:
    path = run.path()
    return f"{os.access(path, os.W_OK)} {os.path.exists(path)} {os.path.realpath(path)[len(os.getcwd()) :]}"


def by_descriptor(run: Program) -> str:
    """Relative to an open folder, which may have been renamed since."""
    folder = os.open(run.random.choice([".", *NAMES]), os.O_RDONLY | os.O_DIRECTORY)
    try:
        name = run.random.choice(NAMES)
        number = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=folder)
        os.close(number)
        os.rename(name, run.random.choice(NAMES), src_dir_fd=folder, dst_dir_fd=folder)
        return ",".join(sorted(os.listdir(folder)))
    finally:
        os.close(folder)


def walk_by_descriptor(run: Program) -> str:
    """Walks as `rm -rf` and `find` do: each folder opened from the one above it."""
    lines = []
    for folder, folders, files, number in os.fwalk(run.path()):
        for name in folders + files:
            found = os.stat(name, dir_fd=number, follow_symlinks=False)
            lines.append(f"{folder}/{name}:{found.st_mode:o}:{found.st_size if stat.S_ISREG(found.st_mode) else 0}")
    return " ".join(sorted(lines))


def remove_tree(run: Program) -> str:
    path = run.path()
    if run.random.random() < 0.5:  # else little is left for the others
        return "kept"
    shutil.rmtree(path)
    return str(os.path.lexists(path))


def work_inside(run: Program) -> str:
    here = os.getcwd()
    os.chdir(run.path())
    try:
        with open(run.random.choice(NAMES), "wb") as file:
            file.write(b"inside")
        return os.getcwd()[len(here) :] + " " + ",".join(sorted(os.listdir(".")))
    finally:
        os.chdir(here)


OPERATIONS: dict[str, Callable[[Program], str]] = {
    function.__name__: function
    for function in (
        create, append, change_in_place, truncate, rename, replace, unlink, mkdir, rmdir, link, swap_symlink, chmod,
        utime, write_through_memory, unnamed, copy, listing, status, read, access, by_descriptor, walk_by_descriptor,
        remove_tree, work_inside,
    )
}  # fmt: skip


def tell_tree(top: str) -> list[str]:
    """Every entry with its kind, mode, links and contents."""
    lines = []
    for folder, folders, files in sorted(os.walk(top)):
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            found = os.lstat(path)
            what = f"{path} {found.st_mode:o}"
            if stat.S_ISLNK(found.st_mode):
                what += " -> " + os.readlink(path)
            elif stat.S_ISREG(found.st_mode):
                with open(path, "rb") as file:
                    what += f" {found.st_nlink} {hashlib.sha256(file.read()).hexdigest()}"
            lines.append(what)
    return lines


def main() -> None:
    os.umask(0o022)
    run = Program(int(sys.argv[1]), os.getcwd() if sys.argv[3:] == ["absolute"] else "")
    for number in range(int(sys.argv[2])):
        print(number, run.step())
    print("\n".join(tell_tree(".")))


if __name__ == "__main__":
    main()
