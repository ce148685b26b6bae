"""A warm process (python -m vramfit.zygote) on a ledger made by hand: what `fit` and `--floor` run candidates in."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any


class WarmProcess:
    """Runs scripts in forks of one process that has torch imported. A context manager."""

    def __init__(self, stage: Path, python: str, cuda_major: int) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._tool = str(stage.parent / "vramfit_ledger_tool")
        libraries = stage / "lib" / f"cu{cuda_major}"
        self._env = {
            **os.environ,
            "LD_PRELOAD": f"{stage}/lib/libvramfit_recorder.so:{libraries}/libvramfit_preload.so",
            "LD_LIBRARY_PATH": str(libraries),
            "PYTHONPATH": f"{stage}/python/vramfit/hook:{stage}/python",
            "OMP_WAIT_POLICY": "PASSIVE",
            "THP_MEM_ALLOC_ENABLE": "1",
            "VRAMFIT_ZYGOTE": "1",
        }
        ours, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [python, "-m", "vramfit.zygote", str(theirs.fileno())],
            env=self._env,
            pass_fds=(theirs.fileno(),),
            stdout=subprocess.DEVNULL,
        )
        theirs.close()
        self._socket = ours
        self._answers = ours.makefile()
        self._count = 0

    def run(self, *argv: str) -> dict[str, Any]:
        """One job on a fresh RTX 3090; the answer's wall_seconds is the whole job."""
        self._count += 1
        job = Path(self._folder.name) / str(self._count)
        job.mkdir()
        ledger = job / "ledger"
        subprocess.run([self._tool, "create", str(ledger)], check=True)
        env = {**self._env, "VRAMFIT_LEDGER": str(ledger), "VRAMFIT_RUN_DIR": str(job), "VRAMFIT_STEPS": "auto"}
        request = {"id": self._count, "argv": list(argv), "cwd": str(job), "env": env, "run_as": "script"}
        request |= {"stdout_path": str(job / "out"), "stderr_path": str(job / "err"), "timeout": 300}
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(self._answers.readline())
        if answer.get("exit_code") != 0:
            raise RuntimeError(f"the job failed: {answer}\n{(job / 'err').read_text()[-2000:]}")
        return answer

    def __enter__(self) -> WarmProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()
        self._socket.close()
        self._process.wait(timeout=30)
        self._folder.cleanup()
