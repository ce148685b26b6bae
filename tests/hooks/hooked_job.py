"""Runs a script with the hooks and the recorder in place, as `vramfit run` does, and reads what they left.

Without a card the CUDA build of PyTorch runs on the CPU: enough for cutting, phases and the arithmetic of techniques.
With `card`, on a virtual card made by the ledger tool.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import socket
import struct
import subprocess
import sys
import textwrap
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
STAGE = Path(os.environ.get("VRAMFIT_STAGE") or ROOT / "build" / "dev" / "stage")
LEDGER_TOOL = STAGE.parent / "vramfit_ledger_tool"
RECORD = struct.Struct("<BBBBIIIqQqqqII")  # vf_record in include/vramfit/recording.h
KINDS = {1: "alloc", 2: "free", 5: "oom", 6: "phase", 7: "mark", 8: "tag", 9: "step"}
PHASES = ("load", "train", "validate", "test", "save")
STAGES = ("other", "forward", "backward", "optimizer", "input")
OWNERS = (
    *("unknown", "weight", "gradient", "optimizer", "input", "activation", "workspace", "buffer"),
    *("average", "master", "quantization", "cache", "other_model"),
)


@dataclass
class Record:
    kind: str
    device: int
    phase: str
    stage: str
    scope: str
    line: str
    address: int
    size: int
    a: int
    b: int
    text: str


@dataclass
class Finished:
    exit_code: int
    stdout: str
    stderr: str
    notes: list[dict[str, Any]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [note for note in self.notes if note["kind"] == kind]

    def only(self, kind: str) -> dict[str, Any]:
        (note,) = self.of_kind(kind)
        return note

    def output(self) -> Any:
        """The last line of stdout, which the script printed as JSON."""
        assert self.exit_code == 0, self.stderr
        return json.loads(self.stdout.splitlines()[-1])

    def phases(self) -> list[str]:
        return [record.phase for record in self.records if record.kind == "phase"]


def cuda_major() -> str:
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        pytest.skip("no torch in this environment")
    version = (Path(torch.origin).parent / "version.py").read_text()
    cuda = re.search(r"^cuda\b.*= '(\d+)", version, re.MULTILINE)
    if cuda is None:
        pytest.skip("not a CUDA build of torch")
    return cuda[1]


def variables(folder: Path, **extra: str) -> dict[str, str]:
    stand_ins = STAGE / "lib" / f"cu{cuda_major()}"
    own = {name: value for name, value in os.environ.items() if not name.startswith("VRAMFIT_")}
    return {
        **own,
        "LD_PRELOAD": f"{STAGE / 'lib' / 'libvramfit_recorder.so'} {stand_ins / 'libvramfit_preload.so'}",
        "LD_LIBRARY_PATH": str(stand_ins),
        "PYTHONPATH": f"{STAGE / 'python' / 'vramfit' / 'hook'}:{STAGE / 'python'}",
        "OMP_NUM_THREADS": "1",
        "VRAMFIT_RUN_DIR": str(folder),
        **extra,
    }


class WarmPython:
    """A process that has imported torch with the hooks in place, and forks for each job: a second less for each.

    That its jobs behave as cold ones is what test_zygote.py is for.
    """

    def __init__(self, folder: Path, **own: str) -> None:
        ours, theirs = socket.socketpair()
        environment = variables(folder, **own)
        del environment["VRAMFIT_RUN_DIR"]
        words = [sys.executable, "-m", "vramfit.zygote", str(theirs.fileno())]
        self.process = subprocess.Popen(words, pass_fds=[theirs.fileno()], env=environment, cwd=folder)
        theirs.close()
        self.socket = ours
        self.lines = ours.makefile("rb")

    def send(self, number: int, argv: list[str], folder: Path, environment: dict[str, str], **extra: Any) -> None:
        """Asks for a job; its output goes to `out` and `err` beside its recording."""
        place = Path(environment["VRAMFIT_RUN_DIR"])
        request = {
            "id": number,
            "argv": argv,
            "cwd": str(folder),
            "env": environment,
            "stdout_path": str(place / "out"),
            "stderr_path": str(place / "err"),
            "run_as": "script",
            "timeout": None,
            **extra,
        }
        self.socket.sendall(json.dumps(request).encode() + b"\n")

    def answer(self, timeout: float = 60) -> dict[str, Any]:
        self.socket.settimeout(timeout)
        return json.loads(self.lines.readline())

    def run(self, argv: list[str], folder: Path, environment: dict[str, str], timeout: float) -> tuple[int, str, str]:
        self.send(1, argv, folder, environment, timeout=timeout)
        answer = self.answer(timeout + 30)
        assert not answer["timed_out"], f"{argv} took more than {timeout} s"
        code = answer["exit_code"] if "exit_code" in answer else -answer["signal"]
        place = Path(environment["VRAMFIT_RUN_DIR"])
        return code, (place / "out").read_text(), (place / "err").read_text()

    def close(self) -> int:
        self.lines.close()
        self.socket.close()
        return self.process.wait(timeout=120)  # it may still import torch, on a busy machine


def run_cold(argv: list[str], folder: Path, environment: dict[str, str], timeout: float) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, *argv],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    return done.returncode, done.stdout, done.stderr


class Job:
    """Scripts run in `folder`, each with a run folder of its own: in forks of `warm`, or in Pythons of their own."""

    def __init__(self, folder: Path, warm: WarmPython | None = None) -> None:
        self.folder = folder
        self._warm = warm
        self._runs = 0

    def run_folder(self) -> Path:
        self._runs += 1
        path = self.folder / f"run{self._runs}"
        path.mkdir()
        return path

    def plan(self, *techniques: dict[str, Any]) -> str:
        path = self.folder / f"plan{self._runs}.json"
        path.write_text(json.dumps({"version": 1, "name": "test", "techniques": list(techniques)}))
        return str(path)

    def write(self, text: str, name: str = "train.py") -> Path:
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def run(
        self,
        text: str,
        *techniques: dict[str, Any],
        steps: str = "all",
        card: int | None = None,
        timeout: float = 120,
        cold: bool = False,
        **extra: str,
    ) -> Finished:
        """`card`: total bytes of a virtual card; None = no card, so the CPU. `cold`: in a Python of its own."""
        script = self.write(text)
        place = self.run_folder()
        extra["VRAMFIT_STEPS"] = steps
        if techniques:
            extra["VRAMFIT_PLAN"] = self.plan(*techniques)
        ledger = make_card(card, extra.get("VRAMFIT_VALUES") == "cpu") if card is not None else None
        if ledger is not None:
            extra["VRAMFIT_LEDGER"] = ledger
        try:
            run = run_cold if cold or self._warm is None else self._warm.run
            ended = run([str(script)], self.folder, variables(place, **extra), timeout)
        finally:
            if ledger is not None:
                Path(ledger).unlink(missing_ok=True)
        return read_run(place, *ended)


def make_card(total_bytes: int, keeps_values: bool = False) -> str:
    if not LEDGER_TOOL.exists():
        pytest.skip("the ledger tool is not built")
    path = f"/dev/shm/vramfit-test-{uuid.uuid4().hex}"
    figures = {"name": "NVIDIA GeForce RTX 3090", "cc": "8.6", "sms": "82", "total": total_bytes, "context": 272629760}
    figures["values"] = int(keeps_values)
    words = [str(word) for name, value in figures.items() for word in (f"--{name}", value)]
    subprocess.run([str(LEDGER_TOOL), "create", path, *words], check=True, capture_output=True)
    return path


def read_run(folder: Path, exit_code: int, stdout: str, stderr: str) -> Finished:
    finished = Finished(exit_code, stdout, stderr)
    for path in sorted(folder.glob("notes.*.jsonl")):
        finished.notes += [json.loads(line) for line in path.read_text().splitlines()]
    for path in sorted(folder.glob("recording.*.vfr")):
        strings_path = folder / f"strings.{path.name.split('.')[1]}.txt"
        strings = ["", *strings_path.read_text().splitlines()] if strings_path.exists() else [""]
        finished.records += _records(path.read_bytes(), strings)
    return finished


def _records(data: bytes, strings: list[str]) -> list[Record]:
    found = []
    for kind, device, phase, stage, scope, line, _, _, address, size, a, b, text, _ in RECORD.iter_unpack(
        data[RECORD.size : len(data) // RECORD.size * RECORD.size]
    ):
        if kind == 0:
            break
        name = KINDS.get(kind, str(kind))
        where = (PHASES[phase], STAGES[stage], strings[scope], strings[line])
        found.append(Record(name, device, *where, address, size, a, b, strings[text]))
    return found
