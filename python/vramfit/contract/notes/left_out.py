"""What a run left out, what it did not see, and what hung on values that were not computed."""

from __future__ import annotations

from typing import Literal

from vramfit.contract.fields import Note, Record, Row

CutKind = Literal["loader", "repeated", "steps", "budget", "counted", "stopped", "uploads"]
UsesCard = Literal["yes", "no", "unknown"]

UnreachedKind = Literal[
    "lines",
    "part",  # of a line that was executed
    "other_side",  # of a comparison that was executed, and came out the same way each time
]


class Cut(Note, kind="cut"):
    """Something of the run was left out."""

    what: CutKind
    text: str  # for the user


class Open(Note, kind="open"):
    """Why what was left out may use more memory."""

    text: str


class RunOn(Note, kind="run_on"):
    """How far a run with a budget came."""

    count: int  # batches and steps in full
    peak_at: int  # the count when the peak last rose
    seconds: float
    steps_in_full: int | None  # optimizer steps before the first cut


class Looked(Note, kind="looked"):
    """How much of a data set was looked at beside the run."""

    loader: int
    samples: int
    of: int | None
    differ: bool


class LineRange(Row):
    """Lines of a file, both counted."""

    first: int
    last: int


class LinePart(Row):
    """A part of a line."""

    line: int
    column: int


class UnreachedLines(Record):
    """Lines of the script's own that were not reached."""

    file: str
    line: int
    last_line: int
    place: str = ""
    code: str = ""
    when: str = ""  # the test that they wait for
    why: str | None = None  # in words, where the test alone would not tell
    card: UsesCard = "unknown"  # whether they use it
    column: int = 0  # of a part: from 1
    what: UnreachedKind = "lines"


class Coverage(Note, kind="coverage"):
    """Which lines of the script's own files were run; once, at the end of a main process."""

    known: bool
    executed: dict[str, list[LineRange]]  # by file
    parts: dict[str, list[LinePart]]  # by file: parts of lines that were run
    unreached: list[UnreachedLines]
    lines_run: int
    lines: int  # how many there are


class DataRead(Note, kind="data_read"):
    """A size, a branch or a number was read from device memory and rests on values that were not computed."""

    what: str
    line: str
    count: int = 1
    is_branch: bool = False  # a branch of the script was chosen by it


class Values(Note, kind="values"):
    """Under `--values cpu`, an operator whose values are not exact."""

    text: str


class Assumed(Note, kind="assumed"):
    """Something that a real card could do otherwise."""

    text: str
