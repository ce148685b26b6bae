"""vramfit init on this machine, on one that is worse, and against a virtual NVML that misbehaves."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from product import ROOT, VRAMFIT, Product

sys.path.insert(0, str(ROOT / "tests" / "watch"))
from machine import Machine


def look(
    product: Product,
    *words: str,
    preexec: Callable[[], None] | None = None,
    environment: dict[str, str] | None = None,
    **variables: str,
) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """The exit code, and the checks by their id."""
    done = subprocess.run(
        [str(VRAMFIT), "init", "--json", "-", *words],
        cwd=product.folder,
        env={**(environment or product.environment()), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=preexec,
    )
    assert done.stdout, done.stderr
    file = json.loads(done.stdout)
    checks: dict[str, list[dict[str, Any]]] = {}
    for check in file["checks"]:
        checks.setdefault(check["id"], []).append(check)
        wrong = check["state"] in ("warning", "problem")
        assert wrong == (check["why"] is not None) == (check["fix"] is not None), check
    assert file["problems"] == sum(c["state"] == "problem" for cs in checks.values() for c in cs)
    assert done.returncode == (1 if file["problems"] else 0)
    return done.returncode, checks


@pytest.fixture
def machine(product: Product) -> Iterator[Machine]:
    made = Machine(product)
    made.create(cards=1)
    made.script("")
    yield made


def test_the_python_of_a_command_is_asked(product: Product) -> None:
    torch = look(product, "--", sys.executable, "train.py")[1]["torch"][0]
    assert torch["state"] == "ok"
    assert "for CUDA" in torch["text"]
    plain = look(product, "--", "/usr/bin/python3")[1]["torch"][0]
    assert plain["state"] in ("ok", "warning")
    assert look(product, "--", "no-such-program")[1]["torch"][0]["state"] == "unknown"


def test_a_misspelt_setting_is_a_problem_that_names_the_nearest(product: Product) -> None:
    code, checks = look(product, PYTORCH_CUDA_ALLOC_CONF="expandable_segment:True")
    assert code == 1
    assert checks["allocator"][0]["fix"] == "expandable_segments instead of expandable_segment"
    assert look(product, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")[1]["allocator"][0]["state"] == "ok"
    wrong_value = look(product, PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:few")[1]["allocator"][0]
    assert wrong_value["state"] == "problem"


def test_lowered_limits_are_seen_in_the_process_itself(product: Product) -> None:
    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 1024))

    nofile = look(product, preexec=lower)[1]["nofile"][0]
    assert nofile["state"] == "warning"
    assert nofile["text"] == "open files: 256"
    assert nofile["fix"] == "ulimit -n 1024"


def test_a_small_shm_in_a_mount_namespace(product: Product) -> None:
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("mounting needs root")
    script = f"mount -t tmpfs -o size=64m tmpfs /dev/shm && exec {VRAMFIT} init --json -"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        env=product.environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    if not done.stdout:
        pytest.skip(f"no mount namespaces here: {done.stderr.strip()}")
    shm = next(check for check in json.loads(done.stdout)["checks"] if check["id"] == "shm")
    assert shm["state"] == "warning"
    assert shm["text"] == "/dev/shm: 64 MiB of 64 MiB free"
    assert "bus error" in shm["why"]


def test_a_full_group_and_wsl_by_another_root(product: Product) -> None:
    gib = 1 << 30
    root = product.folder / "root"
    for name, text in {
        "proc/meminfo": "MemTotal: 67108864 kB\nMemAvailable: 33554432 kB\nSwapTotal: 4194304 kB\nSwapFree: 1024 kB\n",
        "proc/self/cgroup": "0::/\n",
        "proc/self/status": "CapEff:\t0000000000000000\n",
        "proc/sys/kernel/osrelease": "5.15.90.1-microsoft-standard-WSL2\n",
        "sys/fs/cgroup/memory.max": f"{8 * gib}\n",
        "sys/fs/cgroup/memory.current": f"{8 * gib - 1}\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    checks = look(product, "--root", str(root))[1]
    assert checks["memory"][0]["state"] == "warning"
    assert "this group may use 8.00 GiB" in checks["memory"][0]["text"]
    assert checks["swap"][0]["state"] == "warning"
    assert checks["container"][0]["text"] == "runs in WSL 2"
    assert checks["shm"][0]["state"] == "unknown", "there is no /dev/shm below it, and that is not 0"


def test_a_card_of_the_virtual_nvml(machine: Machine) -> None:
    checks = look(machine.product, "--", sys.executable, environment=machine.environment())[1]
    assert checks["driver"][0]["state"] == "ok"
    assert checks["kernels"][0]["state"] == "ok"
    assert "NVIDIA GeForce RTX 3090" in checks["kernels"][0]["text"]


@pytest.mark.parametrize(
    ("lines", "id_", "state", "says"),
    [
        (["driver gone"], "driver", "warning", "driver"),
        (["driver mismatch"], "driver", "warning", "driver"),
        (["0 lost"], "card", "problem", "card 0"),
        (["0 persistence 0"], "persistence", "warning", "persistence mode is off"),
        (["0 ecc_uncorrected 3"], "ecc", "warning", "3 uncorrected"),
        (["0 hidden 1073741824"], "others", "warning", "no process"),
        (["0 mig 1g.5gb:5368709120:0"], "mig", "warning", "divided by MIG"),
        (["0 process 1 1073741824"], "others", "warning", "1 other process holds 1024 MiB"),
    ],
)
def test_what_goes_wrong_with_a_card_is_said(
    machine: Machine, lines: list[str], id_: str, state: str, says: str
) -> None:
    machine.script(*lines)
    checks = look(machine.product, environment=machine.environment())[1]
    assert checks[id_][0]["state"] == state, checks[id_]
    assert says in checks[id_][0]["text"]


def test_on_a_terminal_it_is_80_columns_and_plain_where_it_is_asked(product: Product) -> None:
    done = product.call("init", PYTORCH_ALLOC_CONF="x" * 70 + ":1", NO_COLOR="1")
    assert done.exit_code == 1
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if "xxx" not in line), done.stdout
    assert "\x1b" not in done.stdout
    assert re.search(r"\n1 problem, \d+ warnings?", done.stdout)


def test_a_root_that_is_not_there_is_an_error(product: Product) -> None:
    assert product.call("init", "--root", "/no/such/folder").exit_code == 2
