"""What the command line asks of the hooks, beside the variables of a job: JSON that C++ writes and `fields.read` reads.

`tools/generate_contract` makes the structs (`model/asked.h`), and what writes them (`job/asked_json.h`), from these.
"""

from __future__ import annotations

from typing import Literal

from vramfit.contract.fields import Record

# Words that variables of a job may have.
STEPS_AUTO, STEPS_QUICK, STEPS_ALL = "auto", "quick", "all"  # VRAMFIT_STEPS; else a number
VALUES_ZEROS, VALUES_TRACKED, VALUES_CPU = "zeros", "tracked", "cpu"  # VRAMFIT_VALUES
COVERAGE_TOLD, COVERAGE_SEEN = "1", "seen"  # VRAMFIT_COVERAGE
EVALUATION_CUT, EVALUATION_WHOLE = "cut", "whole"  # VRAMFIT_EVALUATION
ON_OOM_REPORT, ON_OOM_DOCTOR = "report", "doctor"  # VRAMFIT_ON_OOM


class AlreadyPrinted(Record):
    """VRAMFIT_PRINTED: what the run that this one repeats had printed, and this one leaves out."""

    stdout_bytes: int
    stderr_bytes: int


class FirstSteps(Record):
    """VRAMFIT_VERIFY: what a comparison with another run wants to see of a job's first optimizer steps."""

    steps: int = 4  # after which the run ends
    samples: int = 0  # of which each batch of a torch loader is made; 0: as many as the script asks for
    group: int = 0  # batch norms take their statistics over so many samples; 0: over all that they are given
    parts: int = 0  # of that, each with statistics of its own; 0: batch norms take what they are given as it is
    outputs: int = 0  # forwards of evaluations that are waited for beside the steps
    tokens: int = 0  # of each text, about; 0: all
    side: int = 0  # of each image, pixels at least; 0: all
    seconds: float = 0.0  # of the processor, after which two steps are enough; 0: all of them are taken


RunAs = Literal["script", "module"]


class EnteredLayer(Record):
    """The private layer that a fork of the warm process enters."""

    library: str  # that has `vramfit_enter_layer`
    spec: str


class WantedPython(Record):
    """The interpreter that a job has to have, of a warm process that several vramfits share."""

    python: str
    flags: list[str]


class WarmRequest(Record):
    """A request to the warm process, one a line: a job to run in a fork of it."""

    id: int
    argv: list[str]
    cwd: str
    env: dict[str, str]  # the job's whole environment
    stdin_path: str = ""  # these three where no streams come with the request
    stdout_path: str = ""
    stderr_path: str = ""
    run_as: RunAs = "script"
    timeout: float | None = None  # seconds
    patience: float | None = None  # the same, but what the job waits for a processor does not count
    grace: float = 0.0  # seconds from SIGTERM at the time limit to SIGKILL
    layer: EnteredLayer | None = None
    shared: WantedPython | None = None
