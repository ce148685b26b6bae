"""Memory that grows from step to step."""

from __future__ import annotations

from vramfit.contract.fields import Bytes, Note, PhaseName


class Growth(Note, kind="growth"):
    """Memory still grew when the run was ended. From `phase` on: of an evaluation that gathers on the card."""

    text: str
    phase: PhaseName | None = None
    bytes_per_batch: Bytes = 0
    batches: int = 0  # of a pass
    variable: str = ""
    line: str = ""
    movable: bool = False
    graphs: bool = False  # what it gathers keeps the graphs of its forwards


class GraphsKept(Note, kind="graphs_kept"):
    """Graphs of past training steps that the script keeps, with what they saved for backward passes."""

    variable: str  # as the script writes it: "losses", "self.total"
    line: str  # where it adds to it: "train.py:12 in train"
    bytes_per_step: Bytes


class LateGrowth(Note, kind="late_growth"):
    """Memory rose in every round of a loop that was counted on, as it had not before."""

    value: int  # of the counter
    steps: int  # optimizer steps before
    rounds: int
    bytes_per_round: Bytes
