"""vramfit sweep --slurm on a real cluster of one node: arrays, results, cancel, a killed job, taking up again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from one_node_cluster import Cluster, wait_until
from product import VRAMFIT, Product

pytestmark = pytest.mark.slow

TRAINS = """
    import sys, time, torch
    batch = int(sys.argv[sys.argv.index("--batch-size") + 1])
    x = torch.zeros(batch, 2**30, dtype=torch.uint8, device="cuda")
    if batch == 3:
        time.sleep(300)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("slurm"))
    cluster.start()
    yield cluster
    cluster.stop()


def words(product: Product, vary: str, *options: str) -> list[str]:
    script = product.script(TRAINS)
    report = str(product.folder / "sweep.json")
    command = [sys.executable, str(script), "--batch-size", "1"]
    return ["sweep", "--slurm", "--gpu", "rtx3060", "--json", report, "--vary", vary, *options, "--", *command]


def trials_of(product: Product) -> dict[str, str]:
    trials = json.loads((product.folder / "sweep.json").read_text())["trials"]
    return {trial["values"]["batch"]: trial.get("verdict", trial["state"]) for trial in trials}


def test_an_array_of_trials_is_gathered_into_the_history(product: Product, cluster: Cluster) -> None:
    done = product.call(*words(product, "batch=1,2,20"), timeout=200, **cluster.environment)
    assert done.exit_code == 0, str(done)
    assert trials_of(product) == {"1": "fits", "2": "fits", "20": "out_of_memory"}
    runs = json.loads(product.call("runs", "--of", "1", "--json", "-").stdout)["runs"]
    assert sorted(run["verdict"] for run in runs) == ["fits", "fits", "out_of_memory"]
    jobs = json.loads((product.folder / "vramfit-sweep" / "slurm.json").read_text())
    assert len(set(jobs.values())) == 1, "one array for all"


def test_an_interrupt_cancels_the_jobs_and_the_sweep_is_gone_on_with(product: Product, cluster: Cluster) -> None:
    process = subprocess.Popen(
        [str(VRAMFIT), *words(product, "batch=1,3")],
        cwd=product.folder,
        env=product.environment(**cluster.environment),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert "batch=1: fits" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    wait_until(lambda: not cluster.ask("squeue", "--noheader").strip(), 60, "jobs are still queued")
    assert trials_of(product) == {"1": "fits", "3": "waiting"}

    # Taken up again with a script that no longer sleeps: only what is missing is submitted.
    command = words(product, "batch=1,3")
    product.script(TRAINS.replace("time.sleep(300)", "pass"))
    done = product.call(*command, timeout=120, **cluster.environment)
    assert "batch=1: fits" in done.stdout and "(from before)" in done.stdout, str(done)
    assert trials_of(product) == {"1": "fits", "3": "fits"}


def test_a_job_that_is_killed_is_submitted_again(product: Product, cluster: Cluster) -> None:
    script = product.script("""
        import os, pathlib, signal, sys, time, torch
        x = torch.zeros(2**30, dtype=torch.uint8, device="cuda")
        marker = pathlib.Path(sys.argv[1])
        if not marker.exists():
            marker.write_text("first")
            time.sleep(300)
    """)
    marker = product.folder / "marker"
    report = str(product.folder / "sweep.json")
    # The marker tells the test where the job is, and the job's second run that there was a first.
    command = ["sweep", "--slurm", "--files", "shared", "--gpu", "rtx3060", "--json", report, "--vary", "--batch=1"]
    process = subprocess.Popen(
        [str(VRAMFIT), *command, "--", sys.executable, str(script), str(marker)],
        cwd=product.folder,
        env=product.environment(**cluster.environment),
        stdout=subprocess.PIPE,
        text=True,
    )
    wait_until(marker.exists, 60, "the first job did not start")
    time.sleep(1)
    cluster.ask("scancel", "--signal=KILL", "--name=vramfit-sweep")
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, out
    (trial,) = json.loads(Path(report).read_text())["trials"]
    assert trial["verdict"] == "fits"


def test_without_slurm_the_error_says_what_is_missing(product: Product) -> None:
    done = product.call(*words(product, "batch=1"), timeout=60, PATH="/nowhere")
    assert done.exit_code == 2
    assert "sbatch" in done.stderr and "--slurm" in done.stderr, done.stderr
