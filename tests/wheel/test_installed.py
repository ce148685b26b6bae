"""The wheel as a stranger installs it, and a job that has to fit a card.

The home is empty, there is no compiler, and the environment is in a folder with a blank in its name.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
# What a system has without being a developer's.
PROGRAMS = ("sh", "env", "uname", "cat", "ls", "id")


@dataclass
class Stranger:
    environment: Path
    home: Path
    path: str

    def run(self, *command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        variables = {"HOME": str(self.home), "PATH": self.path, "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8"}
        where = cwd or self.home
        return subprocess.run(command, cwd=where, env=variables, capture_output=True, text=True, timeout=600)

    def vramfit(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return self.run(self.environment / "bin" / "vramfit", *words)


@pytest.fixture(scope="module")
def stranger(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    folder = tmp_path_factory.mktemp("a stranger")
    home, programs, environment = folder / "home", folder / "bin", folder / "venv"
    home.mkdir()
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).symlink_to(shutil.which(name) or name)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    it = Stranger(environment, home, f"{environment / 'bin'}:{programs}")
    python = environment / "bin" / "python"
    installed = it.run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-cache-dir", wheel)
    assert installed.returncode == 0, installed.stderr
    # A torch of the stranger's own: that of the tests, without another download.
    (site,) = environment.glob("lib/python3*/site-packages")
    (site / "torch.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return it


def test_no_compiler_can_be_found(stranger: Stranger) -> None:
    asked = "import shutil, sys; sys.exit(any(map(shutil.which, ('cc', 'gcc', 'g++', 'clang', 'ld', 'cmake'))))"
    assert stranger.run(stranger.environment / "bin" / "python", "-c", asked).returncode == 0


def test_the_main_job_is_made_to_fit_and_proven(stranger: Stranger, tmp_path: Path) -> None:
    script = EXAMPLES / "pp_liteseg" / "train.py"
    wanted = ["python", script, "--batch-size", "4", "--crop-size", "256", "512"]
    answer = tmp_path / "answer.json"
    options = ["--gpu", "GTX 1650:800MiB", "--only", "checkpoint", "--within", "0", "--json", answer]
    done = stranger.vramfit("fit", *options, "--", *wanted)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "proven by a run" in done.stdout + done.stderr
    fit = json.loads(answer.read_text())["fit"]
    assert fit["verdict"] == "plan_fits"
    assert fit["plans"][0]["proven"]["peak_device_bytes"] <= fit["limit_bytes"]


def test_a_script_may_import_the_package_outside_a_run(stranger: Stranger) -> None:
    python = stranger.environment / "bin" / "python"
    done = stranger.run(python, "-c", "import vramfit; vramfit.mark('here')")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_its_catalogue_and_its_history_work(stranger: Stranger) -> None:
    cards = stranger.vramfit("gpus")
    assert cards.returncode == 0 and "GTX 1650" in cards.stdout, cards.stderr
    assert stranger.vramfit("runs").returncode == 0


# A job of another system's Python, without torch: the driver by its own name, until the card is full.
FILLS_A_CARD = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
count = 0
while (code := cuda.cuMemAlloc_v2(ctypes.byref(pointer), 256 << 20)) == 0:
    count += 1
print(sys.version_info[1], count, code)
"""
RUNS_THERE = """
set -e
python3 -m venv /venv
/venv/bin/pip install --quiet --no-index /{wheel}
/venv/bin/vramfit gpus >/dev/null
/venv/bin/vramfit run --gpu 'GTX 1650' -- /venv/bin/python /job.py
"""


@pytest.mark.every_version
def test_it_runs_on_debian_11(wheel: Path, tmp_path: Path) -> None:
    """glibc 2.31, Python 3.9: the oldest system that can still be had from Debian's mirrors."""
    root = tmp_path / "debian"
    if shutil.which("debootstrap") is None or os.geteuid() != 0:
        pytest.skip("this machine can't make an older system")
    make = ["debootstrap", "--variant=minbase", "--include=python3,python3-venv", "bullseye", str(root)]
    made = subprocess.run(make, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout[-2000:]
    shutil.copy(wheel, root)
    (root / "job.py").write_text(FILLS_A_CARD)
    inside = RUNS_THERE.format(wheel=wheel.name)
    mounts = f"mount --rbind /dev {root}/dev && mount -t proc proc {root}/proc && mount -t tmpfs tmpfs {root}/tmp"
    command = [
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "sh",
        "-c",
        f'{mounts} && exec chroot {root} sh -c "$1"',
        "-",
        inside,
    ]
    variables = {"HOME": "/", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines()[:1] == ["9 15 2"], done.stdout + done.stderr
