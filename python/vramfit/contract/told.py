"""What the hooks tell the command line beside notes: JSON that Python writes and C++ reads.

`tools/generate_contract` makes the structs, the names of files (`model/told.h`) and the readers (`ingest/told_json.h`)
from this file.
"""

from __future__ import annotations

from vramfit.contract.fields import Bytes, Record
from vramfit.contract.notes.causes import TensorGroup

PATCH_FILE_BEGIN = "patch."  # and the number of the process, and
PATCH_FILE_END = ".json"
VALUES_WANTED_FILE = "values_wanted"
SO_FAR_FILE = "so_far"  # empty: the run has an answer, also when it is interrupted from now on
OOM_REPORT_FILE = "report.json"
OOM_REPORT_MARK = "vramfit_report"  # the key by which a file of it is known


class WarmAnswer(Record):
    """An answer of the warm process, one a line: how a job ended, or why it did not run."""

    id: int  # of the request
    unsuitable: str | None = None  # it would go another way in a process of its own, and did not run
    refused: str | None = None  # it could not enter its layer, and did not run
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    wall_seconds: float = 0.0
    waited_seconds: float = 0.0  # of these for a processor
    cpu_seconds: float = 0.0
    maxrss: int = 0  # KiB


class OutputSeen(Record):
    """values_wanted in the run folder: what a job had printed that ended to be run again."""

    stdout_bytes: int
    stderr_bytes: int


class PatchedFile(Record):
    """A file of the script's own, changed in memory."""

    path: str
    before: str  # the whole text
    after: str
    diff: str  # as `git apply` and `patch -p1` read it, in the patch's root


class UnpatchedTechnique(Record):
    """A technique that is not in the source."""

    id: str
    reason: str


class Patch(Record):
    """patch.PID.json in the run folder: a plan as changes of the script's own files."""

    root: str  # the folder that the diffs' names begin in
    files: list[PatchedFile]
    done: list[str]  # ids of techniques
    left: list[UnpatchedTechnique]


class CodeFrame(Record):
    """A frame of the traceback, as people read it."""

    file: str
    line: int | None
    function: str
    code: str


class OomReport(Record):
    """report.json of VRAMFIT_ON_OOM: the moment of the error, and who held what. The doctor reads a part of it."""

    vramfit_report: int
    kind: str
    device: int
    tried: Bytes
    total: Bytes
    free: Bytes
    stack: list[CodeFrame]
    held: list[TensorGroup]
    owned: dict[str, Bytes]  # weights, buffers, gradients, optimizer, tensors
    allocated: Bytes
    reserved: Bytes
    torch: str
    cuda: str
    argv: list[str]
    pid: int
    rank: str | None
    settings: str | None  # of the allocator
    message: str | None
    uncaught: bool
