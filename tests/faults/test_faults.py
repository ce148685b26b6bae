"""What goes wrong around a job: a clear answer each time, and nothing left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from product import VRAMFIT, Product, wait_for

SHARED_MEMORY = Path("/dev/shm")


def can_mount() -> bool:
    tried = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=64k none /dev/shm"]
    return shutil.which("unshare") is not None and subprocess.run(tried, capture_output=True).returncode == 0


needs_mounts = pytest.mark.skipif(not can_mount(), reason="small file systems can't be mounted here")


def own_entries() -> set[str]:
    """Files of vramfit's sessions in shared memory, whoever runs them, but for the cards of other tests."""
    names = {entry.name for entry in SHARED_MEMORY.iterdir() if entry.name.startswith("vramfit")}
    return {name for name in names if not name.startswith("vramfit-test-")}


def sessions_of(product: Product) -> set[str]:
    return {entry.name for entry in product.temporary.iterdir()}


@pytest.fixture(autouse=True)
def nothing_is_left_behind(product: Product, request: pytest.FixtureRequest) -> Iterator[None]:
    before = own_entries()
    yield
    assert sessions_of(product) == set()
    # Other sessions may live beside ours: only what has no living owner counts.
    left = {name for name in own_entries() - before if not is_locked(SHARED_MEMORY / name)}
    time.sleep(0.2)  # one that was being removed is gone by now
    assert {name for name in left if (SHARED_MEMORY / name).exists()} == set()


def is_locked(path: Path) -> bool:
    """A living session holds a lock on its ledger."""
    done = subprocess.run(["flock", "--nonblock", str(path), "true"], capture_output=True)
    return done.returncode == 1


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


HOLDS = """
    import os, sys, time
    import torch
    x = torch.zeros(2**28, device="cuda")
    print(os.getpid(), flush=True)
    time.sleep(600)
"""

# Says who it is before the slow import, so that the time limit may fall anywhere.
HANGS = """
    import os, signal, sys, time
    if "--deaf" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(os.getpid(), flush=True)
    import torch
    x = torch.zeros(2**28, device="cuda")
    time.sleep(600)
"""


def start(product: Product, text: str, *options: str) -> subprocess.Popen[str]:
    words = product.run_words(product.script(text), options=options)
    return subprocess.Popen(
        [str(VRAMFIT), *words],
        cwd=product.folder,
        env=product.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_child_that_is_killed_is_told_apart_and_its_recording_survives(product: Product) -> None:
    done = product.run("""
        import os, signal, torch
        x = torch.zeros(2**28, device="cuda")
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    assert done.exit_code == 128 + signal.SIGKILL, str(done)
    assert done.result["verdict"] == "failed"
    assert done.result["devices"][0]["peak_allocated_bytes"] >= 2**30
    assert "signal" in done.stderr or "killed" in done.stderr


def test_a_crash_is_a_failure(product: Product) -> None:
    done = product.run("import torch, ctypes\ntorch.zeros(1, device='cuda')\nctypes.string_at(0)\n")
    assert done.exit_code == 128 + signal.SIGSEGV, str(done)
    assert done.result["verdict"] == "failed"


def test_a_script_that_hangs_is_ended_by_the_time_limit(product: Product) -> None:
    done = product.run(HANGS, options=("--timeout", "8"))
    assert done.exit_code != 0
    assert done.result["verdict"] == "failed"
    assert "time limit" in done.stderr
    assert not is_alive(int(done.stdout))


def test_a_script_that_ignores_sigterm_is_ended_all_the_same(product: Product) -> None:
    done = product.run(HANGS, "--deaf", options=("--timeout", "6"))
    assert done.exit_code != 0
    assert not is_alive(int(done.stdout))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_job_and_cleans_up(product: Product, number: int) -> None:
    process = start(product, HOLDS)
    assert process.stdout
    child = int(process.stdout.readline())
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode != 0
    wait_for(lambda: not is_alive(child))


def test_what_a_killed_vramfit_left_goes_with_the_next_run(product: Product) -> None:
    process = start(product, HOLDS)
    assert process.stdout
    child = int(process.stdout.readline())
    process.kill()
    process.wait()
    wait_for(lambda: not is_alive(child), 60)
    assert sessions_of(product) != set(), "a killed process can't have cleaned up"
    assert product.run("import torch\ntorch.zeros(1, device='cuda')\n").exit_code == 0


def test_two_runs_at_once_do_not_see_each_other(product: Product) -> None:
    text = """
        import torch
        x = torch.zeros(2**28, device="cuda")
        free, total = torch.cuda.mem_get_info()
        print((total - free) >> 30)
    """
    both = [start(product, text) for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (0, "1\n"), err


@needs_mounts
def test_full_shared_memory_is_said_before_the_job_starts(product: Product) -> None:
    done = in_namespace(product, "mount -t tmpfs -o size=4k none /dev/shm", "print('started')\n")
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "/dev/shm" in done.stderr or "shared memory" in done.stderr


@needs_mounts
def test_a_full_disk_costs_the_recording_and_never_the_job(product: Product) -> None:
    text = """
        import torch
        for i in range(50000):
            torch.zeros(1000, device="cuda")
        print("done")
    """
    done = in_namespace(product, f"mount -t tmpfs -o size=256k none {product.temporary}", text)
    assert done.stdout == "done\n" or (done.returncode == 2 and "space" in done.stderr), done.stderr
    assert "Traceback" not in done.stderr and "Bus error" not in done.stderr


def in_namespace(product: Product, mount: str, text: str) -> subprocess.CompletedProcess[str]:
    words = product.run_words(product.script(text))
    command = ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh", str(VRAMFIT), *words]
    environment = product.environment()
    return subprocess.run(
        command,
        cwd=product.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_forks_before_cuda_each_have_the_card(product: Product) -> None:
    done = product.run("""
        import os, torch
        children = []
        for _ in range(2):
            pid = os.fork()
            if pid == 0:
                x = torch.zeros(2**26, device="cuda")
                os._exit(0 if torch.cuda.memory_allocated() == 2**28 else 9)
            children.append(pid)
        print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children])
    """)
    assert done.stdout == "[0, 0]\n", str(done)
    assert done.result["verdict"] == "fits"


def test_a_fork_after_cuda_fails_as_on_a_real_card(product: Product) -> None:
    done = product.run("""
        import multiprocessing, torch
        torch.zeros(1, device="cuda")
        def work():
            torch.zeros(1, device="cuda")
        child = multiprocessing.get_context("fork").Process(target=work)
        child.start(); child.join()
        print(child.exitcode)
    """)
    assert done.stdout == "1\n", str(done)
    assert "Cannot re-initialize CUDA in forked subprocess" in done.stderr


def test_spawned_workers_share_the_card(product: Product) -> None:
    done = product.run("""
        import torch, torch.multiprocessing as mp

        def work(rank):
            x = torch.zeros(2**26, device="cuda")
            assert torch.cuda.memory_allocated() == 2**28

        if __name__ == "__main__":
            mp.spawn(work, nprocs=2)
            print("joined")
    """)
    assert (done.exit_code, done.stdout) == (0, "joined\n"), str(done)


def test_a_script_that_execs_goes_on_recording(product: Product) -> None:
    done = product.run("""
        import os, sys
        text = "import torch; torch.zeros(2**28, device='cuda'); print('second')"
        os.execv(sys.executable, [sys.executable, "-c", text])
    """)
    assert (done.exit_code, done.stdout) == (0, "second\n"), str(done)
    assert done.result["devices"][0]["peak_allocated_bytes"] >= 2**30


def test_leaving_without_cleaning_up_loses_nothing(product: Product) -> None:
    done = product.run("import os, torch\nx = torch.zeros(2**28, device='cuda')\nos._exit(5)\n")
    assert done.exit_code == 5, str(done)
    assert done.result["devices"][0]["peak_allocated_bytes"] >= 2**30


def test_orphans_of_the_job_are_ended(product: Product) -> None:
    done = product.run("""
        import subprocess, sys, torch
        torch.zeros(1, device="cuda")
        print(subprocess.Popen(["sleep", "600"], start_new_session=True).pid)
    """)
    assert done.exit_code == 0, str(done)
    assert not is_alive(int(done.stdout))


def test_an_extension_that_needs_what_is_not_there_is_named(product: Product) -> None:
    source = product.folder / "extension.c"
    source.write_text("int cudaFrobnicate(void);\nint start(void) { return cudaFrobnicate(); }\n")
    library = product.folder / "extension.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    done = product.run(f"import ctypes, torch\ntorch.zeros(1, device='cuda')\nctypes.CDLL({str(library)!r}, 2)\n")
    assert done.exit_code == 1, str(done)
    assert done.result["verdict"] == "failed"
    assert "cudaFrobnicate" in done.stderr


def test_a_function_that_nobody_modelled_refuses_and_is_listed(product: Product) -> None:
    done = product.run("""
        import ctypes, torch
        torch.zeros(1, device="cuda")
        major = torch.version.cuda.split(".")[0]
        runtime = ctypes.CDLL(f"libcudart.so.{major}")
        print(runtime.cudaGraphicsUnmapResources(0, None, None) != 0)
    """)
    assert done.stdout == "True\n", str(done)
    assert any("cudaGraphicsUnmapResources" in str(entry) for entry in done.result["not_modelled"]), done.result


def test_a_read_only_folder_is_no_obstacle(product: Product) -> None:
    script = product.script("import torch\ntorch.zeros(1, device='cuda')\nprint('ran')\n")
    locked = product.folder / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    done = subprocess.run(
        [str(VRAMFIT), "run", "--gpu", "t4", "--", sys.executable, str(script)],
        cwd=locked,
        env=product.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
    assert os.listdir(locked) == []


def test_a_torch_that_needs_an_unknown_function_is_refused_with_its_name(product: Product) -> None:
    package = product.folder / "other" / "torch"
    package.mkdir(parents=True)
    (package / "version.py").write_text("__version__ = '9.9.0+cu130'\ncuda = '13.0'\n")
    (package / "__init__.py").write_text("import ctypes, os\nctypes.CDLL(os.path.dirname(__file__) + '/torch.so', 2)\n")
    source = product.folder / "torch.c"
    source.write_text("int cudaTeleport(void);\nint use(void) { return cudaTeleport(); }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(package / "torch.so"), str(source)], check=True)
    done = product.run("import torch\n", PYTHONPATH=str(package.parent))
    assert done.exit_code == 1 and done.result["verdict"] == "failed", str(done)
    (untested,) = done.result["untested"]
    assert untested.startswith("torch 9.9.0+cu130 is newer than those that this vramfit knows")
    assert untested in done.stderr
    assert "undefined symbol: cudaTeleport" in done.result["error"]["message"]
    assert "torch 9.9.0+cu130 needs cudaTeleport" in done.result["error"]["remedy"]
