"""The warm process: jobs in forks of it behave as cold ones."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hooked_job import STAGE, Finished, Job, WarmPython, read_run, variables
from product import ROOT

sys.path.insert(0, str(ROOT / "python"))
from vramfit.contract import variables as of_contract

LAYER = STAGE / "lib" / "libvramfit_layer.so"


class Warm:
    def __init__(self, job: Job, process: WarmPython) -> None:
        self.job = job
        self.process = process

    def send(self, number: int, argv: list[str], folder: Path, **extra: Any) -> None:
        own = {"VRAMFIT_STEPS": "all", **extra.pop("env", {})}
        self.process.send(number, argv, self.job.folder, variables(folder, **own), **extra)

    def answer(self) -> dict[str, Any]:
        return self.process.answer()

    def run(self, text: str, **extra: Any) -> tuple[dict[str, Any], Finished]:
        folder = self.job.run_folder()
        self.send(1, [str(self.job.write(text)), "--word"], folder, **extra)
        answer = self.answer()
        return answer, read_run(
            folder, answer.get("exit_code", -1), (folder / "out").read_text(), (folder / "err").read_text()
        )


@pytest.fixture
def warm(job: Job, warm_python: WarmPython) -> Warm:
    return Warm(job, warm_python)


def test_it_ends_with_its_socket(tmp_path: Path) -> None:
    assert WarmPython(tmp_path).close() == 0


def test_jobs_run_as_the_main_program_one_after_another(warm: Warm) -> None:
    script = """
        import os, pickle, sys, torch
        class Thing: pass
        print(__name__, sys.argv[1:], type(pickle.loads(pickle.dumps(Thing()))).__name__, os.path.basename(__file__))
        torch.nn.Linear(2, 2).eval()(torch.ones(1, 2))
    """
    for _ in range(2):
        answer, finished = warm.run(script)
        assert (answer["id"], answer["exit_code"]) == (1, 0), finished.stderr
        assert finished.stdout == "__main__ ['--word'] Thing train.py\n"
        assert finished.phases() == ["test"]
        assert len(finished.of_kind("process")) == 1


def test_a_script_is_compiled_by_its_own_rules_and_its_traceback_is_its_own(warm: Warm) -> None:
    answer, finished = warm.run("""
        def f(size: int): raise ValueError(f.__annotations__["size"])
        f(1)
    """)
    assert answer["exit_code"] == 1
    assert "ValueError: <class 'int'>" in finished.stderr
    assert "zygote" not in finished.stderr


def test_exit_codes_errors_and_signals_come_back(warm: Warm) -> None:
    assert warm.run("import sys; sys.exit(3)")[0]["exit_code"] == 3
    answer, finished = warm.run("import torch\nraise ValueError('x')")
    assert answer["exit_code"] == 1
    assert "ValueError: x" in finished.stderr
    assert finished.only("error")["type"] == "ValueError"
    assert warm.run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")[0]["signal"] == signal.SIGKILL


def test_a_job_that_hangs_is_ended_with_its_children(warm: Warm) -> None:
    answer, finished = warm.run(
        """
        import subprocess, time
        print(subprocess.Popen(["sleep", "600"]).pid, flush=True)
        time.sleep(600)
    """,
        timeout=1.0,
    )
    assert answer["timed_out"] is True
    assert (
        not Path(f"/proc/{finished.stdout.strip()}/cmdline").exists()
        or not Path(f"/proc/{finished.stdout.strip()}/cmdline").read_bytes()
    )


def test_a_patient_limit_ends_what_sleeps_and_waits_for_what_others_keep_from_the_processor(warm: Warm) -> None:
    answer, _ = warm.run("import time\ntime.sleep(600)\n", patience=1.0)
    assert answer["timed_out"] is True and answer["waited_seconds"] < answer["wall_seconds"] / 2
    # Sixteen threads ask for the processors, of which each gets its share: what they wait is no time of the job's.
    script = """
        import hashlib, os, threading, time
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        end = time.monotonic() + 3
        block = bytes(1 << 20)
        def work():
            while time.monotonic() < end:
                hashlib.sha256(block)
        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    """
    answer, _ = warm.run(script, patience=2.0)
    assert answer["timed_out"] is False and answer["exit_code"] == 0, answer
    assert answer["waited_seconds"] > 1 and answer["cpu_seconds"] > 0, answer


def test_a_plan_of_one_job_is_not_applied_to_the_next(warm: Warm) -> None:
    plan = warm.job.plan({"id": "micro_batch", "micro_batch": 2, "accumulate": 2, "loaders": [0]})
    script = """
        import torch
        from torch.utils.data import DataLoader
        print([len(x) for x in DataLoader(torch.ones(8, 1), batch_size=4)])
    """
    assert warm.run(script, env={"VRAMFIT_PLAN": plan})[1].stdout == "[2, 2, 2, 2]\n"
    assert warm.run(script)[1].stdout == "[4, 4]\n"


def test_a_shared_one_runs_jobs_whose_own_variables_differ_and_refuses_those_that_would_begin_otherwise(
    warm: Warm,
) -> None:
    shared = {"python": sys.executable, "flags": []}
    own = {name: "" for name in of_contract.OF_A_JOB if name not in ("VRAMFIT_RUN_DIR", "VRAMFIT_LEDGER")}
    answer, finished = warm.run("import torch", shared=shared, env={"VRAMFIT_PATCH": "1"})
    assert (answer.get("unsuitable"), answer["exit_code"]) == (None, 0), finished.stderr
    answer, _ = warm.run("import torch", shared=shared, env=own)
    assert answer.get("unsuitable") is None, answer
    for name in ("VRAMFIT_REAL", "SOMEBODYS_OWN"):
        warm.send(1, [str(warm.job.write("1"))], warm.job.run_folder(), shared=shared, env={name: "1"})
        assert name in warm.answer()["unsuitable"]


def test_two_jobs_at_once_are_both_answered(warm: Warm) -> None:
    script = str(warm.job.write("import sys, time; time.sleep(float(sys.argv[1]))"))
    folders = [warm.job.run_folder(), warm.job.run_folder()]
    warm.send(7, [script, "1"], folders[0])
    warm.send(8, [script, "0"], folders[1])
    assert [warm.answer()["id"] for _ in range(2)] == [8, 7]


def test_a_job_that_can_not_enter_its_layer_is_refused_and_does_not_run(warm: Warm) -> None:
    for layer in ({"library": "/nowhere/lib.so", "spec": "{}"}, {"library": str(LAYER), "spec": "not a spec"}):
        answer, finished = warm.run("open('ran', 'w')", layer=layer)
        assert answer["refused"], answer
        assert finished.stderr == "" and not (warm.job.folder / "ran").exists()
    assert warm.run("import torch")[0]["exit_code"] == 0


def test_a_module_of_the_jobs_own_is_not_replaced_by_an_installed_one(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "einops.py").write_text("where = 'installed'")  # a name that a warm process imports ahead of jobs
    process = WarmPython(tmp_path, PYTHONPATH=os.pathsep.join([variables(tmp_path)["PYTHONPATH"], str(packages)]))
    try:
        folder = tmp_path / "project"
        folder.mkdir()
        job = Job(folder, process)
        warm = Warm(job, process)
        path = {"PYTHONPATH": str(packages)}
        script = "import einops; print(einops.where)"
        (folder / "einops.py").write_text("where = 'own'")
        for _ in range(3):
            assert warm.run(script, env=path)[1].stdout == "own\n"
        (folder / "einops.py").unlink()
        for _ in range(2):
            assert warm.run(script, env=path)[1].stdout == "installed\n"
        (folder / "einops.py").write_text("where = 'own'")  # which is imported from elsewhere by now
        warm.send(1, [str(job.write(script))], job.run_folder(), env=path)
        assert "einops" in warm.answer()["unsuitable"]
    finally:
        process.close()
