"""A job's private layer: inside it is as in a plain folder, and the real folder stays as it was.

Both kinds are held to the same programs: overlays in a mount namespace (as root, and in a user namespace as somebody
else), and a supervisor of system calls for machines that allow no mounts.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import program
import pytest
from product import STAGE

TOOL = STAGE.parent / "vramfit_layer_tool"
PROGRAM = Path(__file__).with_name("program.py")
NOBODY = 65534
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable  # one that others may run too
FIRST_SEED = int(os.environ.get("VRAMFIT_TEST_SEED", "0"))
SEEDS = [FIRST_SEED + more for more in range(4)]


def as_user(user: int) -> list[str]:
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []


def works(kind: str, user: int) -> bool:
    """Whether this machine gives such a layer to such a user."""
    if user and (os.getuid() != 0 or not shutil.which("setpriv")):
        return False
    with Folder(user) as folder:
        return folder.inside(kind, "true").returncode == 0


class Folder:
    """A folder that such a user owns, where others can get to it."""

    def __init__(self, user: int = 0) -> None:
        self.user = user
        self.top = Path("/tmp") / f"vramfit-files.{os.getpid()}.{user}"
        self.path = self.top / "work"

    def __enter__(self) -> Folder:
        self.path.mkdir(parents=True)
        (self.top / "own").mkdir()
        shutil.copy(PROGRAM, self.top)
        shutil.copy(TOOL, self.top)
        shutil.copy(STAGE / "lib" / "libvramfit_recorder.so", self.top)
        self.give()
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.top)

    def give(self) -> None:
        if self.user:
            subprocess.run(["chown", "-R", f"{self.user}:{self.user}", self.top], check=True)

    def plain(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*as_user(self.user), *command], cwd=self.path, capture_output=True, text=True)

    def words(self, kind: str, *command: str, keep: Path | None = None) -> list[str]:
        preload = ["env", f"LD_PRELOAD={self.top / 'libvramfit_recorder.so'}", "VRAMFIT_LAYER=1"]
        kept = ["--keep", str(keep)] if keep else []
        return [str(self.top / TOOL.name), kind, str(self.top / "own"), *kept, "--", *preload, *command]

    def inside(self, kind: str, *command: str, keep: Path | None = None) -> subprocess.CompletedProcess[str]:
        return self.plain(*self.words(kind, *command, keep=keep))

    def populate(self, seed: int) -> None:
        here = os.getcwd()
        os.chdir(self.path)
        filling = program.Program(seed)
        # A user namespace breaks hard links that were there before: docs/decisions/0007.
        for _ in range(60):
            filling.step(["create", "mkdir", "append", "swap_symlink"] + ([] if self.user else ["link"]))
        os.chdir(here)
        self.give()

    def tree(self) -> list[str]:
        here = os.getcwd()
        os.chdir(self.path)
        try:
            return program.tell_tree(".")
        finally:
            os.chdir(here)


KINDS = [("overlay", 0), ("overlay", NOBODY), ("supervised", 0)]


@pytest.mark.parametrize("paths", ["relative", "absolute"])
@pytest.mark.parametrize(("kind", "user"), KINDS)
def test_random_programs_do_inside_what_they_do_on_a_plain_folder(kind: str, user: int, paths: str) -> None:
    if not works(kind, user):
        pytest.skip("this machine gives no such layer")
    for seed in SEEDS:
        words = [PYTHON, "../program.py", str(seed), "150", paths]
        with Folder(user) as folder:
            folder.populate(seed)
            plain = folder.plain(*words)
            assert plain.returncode == 0, plain.stderr
        with Folder(user) as folder:
            folder.populate(seed)
            before = folder.tree()
            done = folder.inside(kind, *words)
            assert folder.tree() == before, f"seed {seed}: the real folder changed"
        assert done.returncode == 0, done.stderr
        assert done.stdout == plain.stdout, f"seed {seed}"


SHELL = """
set -e
mkdir -p d/e; seq 1 1000 > d/e/n; cp -a d d2; mv d2 d3; rm -r d; ln -s d3 cur; ln -sfn d3/e cur; tac cur/n | head -1
truncate -s 5 d3/e/n; cat d3/e/n; tar czf t.tgz d3; rm -rf d3; tar xzf t.tgz; find d3 | sort
sed -i s/old/new/ keep; cat keep; install -m 600 keep keep2; stat -c '%a %s' keep2
python3 -c '
import sqlite3
for mode in ("wal", "delete", "truncate"):
    c = sqlite3.connect("x.db"); print(c.execute("pragma journal_mode=" + mode).fetchone())
    c.execute("create table if not exists t(a)"); c.executemany("insert into t values(?)", [(i,) for i in range(2000)])
    c.commit(); c.execute("update t set a=a+1"); c.rollback()
    print(c.execute("select count(*), sum(a), (select * from pragma_integrity_check) from t").fetchone()); c.close()'
git init -q g; cd g; git config user.email a@b; git config user.name a; cp ../keep .; git add .; git commit -qm x
git mv keep k3; git commit -qam y; git log --format=%s; git gc -q; git fsck; git status --short; cd ..
python3 -m venv --without-pip v; v/bin/python -c 'import sys; print(sys.prefix.endswith("/v"))'
sh -c 'rm keep'; ls | tr '\\n' ' '
"""


@pytest.mark.parametrize("kind", ["overlay", "supervised"])
def test_coreutils_sqlite_git_and_a_venv_work_inside(kind: str) -> None:
    if not works(kind, 0):
        pytest.skip("this machine gives no such layer")
    with Folder() as folder:
        (folder.path / "keep").write_text("old\n")
        expected = folder.plain("bash", "-c", SHELL)
        assert expected.returncode == 0, expected.stderr
    with Folder() as folder:
        (folder.path / "keep").write_text("old\n")
        done = folder.inside(kind, "bash", "-c", SHELL)
        assert (done.stdout, done.returncode) == (expected.stdout, 0), done.stderr
        assert [path.name for path in folder.path.iterdir()] == ["keep"]
        assert (folder.path / "keep").read_text() == "old\n"
        held = json.loads(done.stderr.splitlines()[-1])
        assert (held["deleted"], held["replaced"]) == (1, 0), held


@pytest.mark.parametrize("kind", ["overlay", "supervised"])
def test_a_checkpoint_of_zeros_takes_no_room_and_reads_back(kind: str) -> None:
    if not works(kind, 0):
        pytest.skip("this machine gives no such layer")
    text = "f = open('big', 'wb'); f.write(b'head'); [f.write(bytes(1 << 24)) for _ in range(512)]; f.write(b'tail')"
    check = "f.close(); import os; s = os.stat('big'); print(s.st_size, s.st_blocks < 10000)"
    read = "f = open('big', 'rb'); print(f.read(5)); f.seek(-5, 2); print(f.read())"
    with Folder() as folder:
        done = folder.inside(kind, sys.executable, "-c", f"{text}; {check}; {read}")
        assert done.stdout.split("\n")[:3] == [f"{8 + (512 << 24)} True", "b'head\\x00'", "b'\\x00tail'"], done.stderr
        assert list(folder.path.iterdir()) == []


@pytest.mark.parametrize("kind", ["overlay", "supervised"])
def test_nothing_leaves_the_machine_and_loopback_works(kind: str) -> None:
    if not works(kind, 0):
        pytest.skip("this machine gives no such layer")
    text = """
import errno, socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    try:
        other = socket.socket(socket.AF_INET, kind)
        other.connect(("203.0.113.7", 9)); print("connected")
    except OSError as error:
        print(errno.errorcode[error.errno])
"""
    with Folder() as folder:
        done = folder.inside(kind, sys.executable, "-c", text)
        assert done.stdout.split() == ["ENETUNREACH", "ENETUNREACH"], done.stderr
        assert json.loads(done.stderr.splitlines()[-1])["network_attempts"] >= 2


@pytest.mark.parametrize("kind", ["overlay", "supervised"])
def test_what_the_layer_held_can_be_kept(kind: str) -> None:
    if not works(kind, 0):
        pytest.skip("this machine gives no such layer")
    with Folder() as folder:
        (folder.path / "old").write_text("mine")
        (folder.path / "folder").mkdir()
        (folder.path / "folder" / "inner").write_text("inner")
        kept = folder.top / "kept"
        folder.inside(kind, "sh", "-c", "rm old; echo new > new; mkdir d; echo x > d/y; mv folder moved", keep=kept)
        files = kept / "files" / folder.path.relative_to("/")
        assert {str(path.relative_to(files)) for path in files.rglob("*") if path.is_file()} >= {"new", "d/y"}
        assert str(folder.path / "old") in (kept / "deleted.txt").read_text().split("\n")


ODD_FILES = """
import os, socket, time
open("tool", "w").write("x"); os.chmod("tool", 0o4755)
os.mkfifo("pipe", 0o640)
open("one", "w").write("same"); os.link("one", "two")
with open("sparse", "wb") as file: file.seek(1 << 30); file.write(b"end")
socket.socket(socket.AF_UNIX).bind("socket")
os.mkdir("closed"); open("closed/in", "w").write("x"); os.utime("closed/in", (5, 5)); os.chmod("closed", 0o555)
os.symlink("one", "link")
os.rename("theirs", "moved")
os.remove("gone")
"""


@pytest.mark.parametrize("kind", ["overlay", "supervised"])
def test_what_is_kept_is_what_it_was_or_named(kind: str) -> None:
    if not works(kind, 0):
        pytest.skip("this machine gives no such layer")
    with Folder() as folder:
        (folder.path / "theirs" / "deep").mkdir(parents=True)
        (folder.path / "theirs" / "deep" / "file").write_text("theirs")
        (folder.path / "gone").write_text("x")
        kept = folder.top / "kept"
        done = folder.inside(kind, PYTHON, "-c", ODD_FILES, keep=kept)
        assert done.returncode == 0, done.stderr
        files = kept / "files" / folder.path.relative_to("/")
        assert stat.S_IMODE((files / "tool").stat().st_mode) == 0o4755
        assert stat.S_ISFIFO((files / "pipe").stat().st_mode)
        assert (files / "one").stat().st_ino == (files / "two").stat().st_ino
        sparse = (files / "sparse").stat()
        assert (sparse.st_size, sparse.st_blocks * 512 < 1 << 20) == ((1 << 30) + 3, True)
        assert stat.S_IMODE((files / "closed").stat().st_mode) == 0o555
        assert (files / "closed" / "in").stat().st_mtime == 5
        assert os.readlink(files / "link") == "one"
        assert (files / "moved" / "deep" / "file").read_text() == "theirs"
        assert {str(folder.path / name) for name in ("gone", "theirs")} <= set(
            (kept / "deleted.txt").read_text().splitlines()
        )
        assert not os.path.lexists(files / "socket")
        assert f"not kept: {folder.path}/socket: a socket" in done.stderr


OPENS_AGAIN = """
import os, sys
os.fchmod(0, 0o600); os.fchmod(3, 0o600); os.utime(3, (1, 1))
os.fchmod(4, 0o700)
os.close(os.open("made", os.O_CREAT | os.O_WRONLY, dir_fd=4))
print(sys.stdin.read(), os.read(3, 9).decode(), sorted(os.listdir(4)))
with open("/dev/stderr", "a") as log:
    log.write("said\\n")
"""


@pytest.mark.parametrize(("kind", "user"), [kind for kind in KINDS if kind[0] == "overlay"])
def test_files_that_a_job_inherits_open_are_the_layers(kind: str, user: int) -> None:
    if not works(kind, user):
        pytest.skip("this machine gives no such layer")
    with Folder(user) as folder:
        (folder.path / "in").write_text("from stdin")
        (folder.path / "three").write_text("skip:from three")
        (folder.path / "inner").mkdir()
        script = folder.path / "job.py"
        script.write_text(OPENS_AGAIN)
        before = {name: (folder.path / name).stat() for name in ("in", "three", "inner")}
        shell = 'exec 3< three 4< inner; head -c 5 <&3 > /dev/null; exec "$@" < in 2>> log'
        folder.give()
        done = folder.plain("sh", "-c", shell, "sh", *folder.words(kind, PYTHON, str(script)))
        assert done.stdout == "from stdin from thre ['made']\n", (done, (folder.path / "log").read_text())
        assert (folder.path / "log").read_text().startswith("said\n")  # and then the tool's own sums
        for name, status in before.items():
            now = (folder.path / name).stat()
            assert (now.st_mode, now.st_mtime_ns) == (status.st_mode, status.st_mtime_ns), name
        assert list((folder.path / "inner").iterdir()) == []
