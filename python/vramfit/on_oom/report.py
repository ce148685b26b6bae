"""The files of a report, and what `vramfit doctor` says about them.

vramfit-oom/<time>-<pid>/
  owners.txt         who held what, by the script's own names
  traceback.txt      the error as Python prints it
  memory_summary.txt torch.cuda.memory_summary()
  snapshot.pickle    as torch.cuda.memory._dump_snapshot() writes it: for pytorch.org/memory_viz and vramfit replay
  report.json        all of it but the snapshot
  diagnosis.txt      with VRAMFIT_ON_OOM=doctor
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import time
import traceback
from pathlib import Path

from vramfit.base import process
from vramfit.contract import asked, told
from vramfit.contract import notes as said
from vramfit.contract.fields import plain
from vramfit.on_oom import progress_marks
from vramfit.on_oom.collected import RefusedAllocation, collected
from vramfit.steer import errors

DOCTOR_SECONDS = 60.0
_FOR_THE_DOCTOR = ("traceback.txt", "snapshot.pickle", "memory_summary.txt", told.OOM_REPORT_FILE)
_MAX_SNAPSHOT_SEGMENTS = 200_000


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.folders: list[Path] = []
        self.finished = False


_state = process.own(_State)


def write(moment: RefusedAllocation, number: int) -> None:
    """Writes at the moment itself, from inside the allocator's call: a job that is killed next has its report."""
    folder = _make_folder(number)
    _state.folders.append(folder)
    (folder / "owners.txt").write_text(owners_text(moment), encoding="utf-8")
    (folder / "memory_summary.txt").write_text(moment.summary, encoding="utf-8")
    _write_json(folder, moment, None)
    if moment.snapshot is not None and len(moment.snapshot.get("segments", ())) <= _MAX_SNAPSHOT_SEGMENTS:
        with open(folder / "snapshot.pickle", "wb") as file:
            pickle.dump(moment.snapshot, file)


def _make_folder(number: int) -> Path:
    base = Path(os.environ.get("VRAMFIT_ON_OOM_DIR") or "vramfit-oom")
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}" + (f"-{number}" if number > 1 else "")
    folder = base / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder.absolute()


def _write_json(folder: Path, moment: RefusedAllocation, error: BaseException | None) -> None:
    torch = sys.modules["torch"]
    known = told.OomReport(
        vramfit_report=1,
        kind="out_of_memory",
        device=moment.device,
        tried=moment.tried,
        total=moment.total,
        free=moment.free,
        stack=moment.stack,
        held=moment.held,
        owned=moment.owned,
        allocated=moment.allocated,
        reserved=moment.reserved,
        torch=str(torch.__version__),
        cuda=str(torch.version.cuda),
        argv=list(sys.argv),
        pid=os.getpid(),
        rank=os.environ.get("RANK"),
        settings=os.environ.get("PYTORCH_CUDA_ALLOC_CONF") or os.environ.get("PYTORCH_ALLOC_CONF"),
        message=str(error) if error is not None else None,
        uncaught=error is not None,
    )
    (folder / told.OOM_REPORT_FILE).write_text(json.dumps(known, indent=1, default=plain), encoding="utf-8")


def owners_text(moment: RefusedAllocation) -> str:
    lines = [
        f"out of memory on cuda:{moment.device}: tried {_size(moment.tried)}; "
        f"{_size(moment.allocated)} allocated and {_size(moment.reserved)} reserved by PyTorch, "
        f"{_size(moment.free)} free of {_size(moment.total)}",
        "",
        *(f"{_size(size):>11}  {owner}" for owner, size in sorted(moment.owned.items(), key=lambda row: -row[1])),
        "",
        "Tensors that are none of the model's or the optimizer's, by who holds them",
        *(_held_line(entry) for entry in moment.held),
        *([f"{_size(moment.more[1]):>11}  and {moment.more[0]} more"] if moment.more[0] else []),
        "",
        "Where",
        *(f"  {frame.file}:{frame.line} in {frame.function}\n      {frame.code}" for frame in moment.stack),
    ]
    return "\n".join(lines) + "\n"


def _held_line(entry: said.TensorGroup) -> str:
    holder = entry.holder
    name = holder.name or ("only autograd" if holder.kind == "graph" else "not found")
    where = f" ({holder.kind}, {holder.where})" if holder.where else f" ({holder.kind})"
    count = f"{entry.tensors} x " if entry.tensors > 1 else ""
    line = f", made at {entry.line}" if entry.line else ""
    return f"{_size(entry.bytes):>11}  {name}{where}: {count}{entry.shape}{line}"


def _size(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if abs(size) < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.2f} GiB"


def finish(error: BaseException) -> None:
    """An exception that nobody caught: its words join the report, and the doctor has a look."""
    if errors.is_oom(error):
        _finish_oom(error)
    elif "CUDA error" in str(error) or type(error).__name__ == "AcceleratorError":
        _locate(error)


def _finish_oom(error: BaseException) -> None:
    if not _state.folders or _state.finished:
        return
    _state.finished = True
    folder = _state.folders[-1]
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    (folder / "traceback.txt").write_text(text, encoding="utf-8")
    _write_json(folder, collected.moments[-1], error)
    verdict = _ask_doctor(folder) if os.environ.get("VRAMFIT_ON_OOM") == asked.ON_OOM_DOCTOR else ""
    shown = os.path.relpath(folder)
    print(f"vramfit: {verdict + chr(10) + '         ' if verdict else ''}the report is in {shown}/", file=sys.stderr)


def tell_unfinished() -> None:
    if _state.folders and not _state.finished:
        errors_seen = collected.errors
        how_often = "once" if errors_seen == 1 else f"{errors_seen} times"
        place = os.path.relpath(_state.folders[-1])
        print(f"vramfit: the job ran out of memory {how_often} and caught it; a report is in {place}/", file=sys.stderr)


def find_program() -> str | None:
    """`vramfit` beside this package: <stage>/python/vramfit/on_oom, <stage>/bin/vramfit."""
    beside = Path(os.path.abspath(__file__)).parents[3] / "bin" / "vramfit"
    return str(beside) if beside.exists() else shutil.which("vramfit")


def _ask_doctor(folder: Path) -> str:
    """What the doctor says goes to diagnosis.txt; its verdict is returned. Empty: it could not be asked."""
    program = find_program()
    files = [name for name in _FOR_THE_DOCTOR if (folder / name).exists()]
    if program is None:
        return ""
    environment = {
        name: value for name, value in os.environ.items() if name != "LD_PRELOAD" and not name.startswith("VRAMFIT_")
    }
    environment["VRAMFIT_OUTSIDE"] = "1"  # or the recorder puts them back (recorder/keep_card.cc)
    try:
        done = subprocess.run(
            [program, "doctor", *files],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DOCTOR_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if done.returncode not in (0, 1) or not done.stdout.strip():
        return ""
    (folder / "diagnosis.txt").write_text(done.stdout, encoding="utf-8")
    return done.stdout.strip().splitlines()[0]


def _locate(error: BaseException) -> None:
    """An error that the card reported late: between which modules its kernel was launched."""
    for place in progress_marks.places():
        if place.before is None:
            text = f"after all marked work, past {_mark(place.after)}"
        elif place.after is None:
            text = f"before {_mark(place.before)}"
        else:
            text = f"between {_mark(place.after)} and {_mark(place.before)}"
        print(f"vramfit: the work that failed on cuda:{place.device} was launched {text}", file=sys.stderr)


def _mark(mark: progress_marks.Mark | None) -> str:
    if mark is None:
        return "the start"
    return f"{mark.module} ({mark.line})" if mark.line else mark.module
