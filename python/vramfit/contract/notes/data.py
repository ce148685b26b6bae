"""What the job reads: its loaders and what they deliver."""

from __future__ import annotations

from vramfit.contract.fields import Note, PhaseName


class Loader(Note, kind="loader"):
    """A data loader, by the order in which loaders were first iterated; the later note counts."""

    ordinal: int
    batch_size: int | None
    batches: int | None
    samples: int | None
    phase: PhaseName
    shapes: list[list[int]]  # of a batch's tensors


class StepInput(Note, kind="step_input"):
    """What the model was given."""

    phase: PhaseName
    step: int
    elements: int
    shapes: str


class InputModule(Note, kind="input_module"):
    """A module without parameters that ran before the model."""

    name: str
