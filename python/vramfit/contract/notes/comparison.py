"""Two trainings compared (`vramfit verify`), and snapshots that a run keeps."""

from __future__ import annotations

from typing import Literal

from vramfit.contract.fields import Note, Number

TensorKind = Literal["gradient", "update", "state", "buffer", "average", "average_in_order", "output", "input"]


class TrainingStep(Note, kind="training_step"):
    """An optimizer step begins."""

    optimizer: int
    step: int
    samples: int  # that went through backward by then
    data: float  # the sum of their numbers
    weights: float | None  # at the first step: the sum of the sampled weights
    options: list[dict[str, Number]]  # of each group


class TrainingTensor(Note, kind="training_tensor"):
    """Values of a tensor, evenly spread: up to 64, of an output 2048; of an input the sum of all numbers.

    An average is known by its weight's name or, in a list, by its turn.
    """

    what: TensorKind  # the last two are of an evaluation
    index: str
    values: list[Number]


class TextsCut(Note, kind="texts_cut"):
    """Token sequences are compared by every n-th token."""

    kept: int


class ImagesCut(Note, kind="images_cut"):
    """Images, and label maps of their size, are compared by every n-th row and column."""

    height: int  # that is left, in pixels
    width: int


class TrainingEnd(Note, kind="training_end"):
    """The steps to compare are over."""


class Snapshot(Note, kind="snapshot"):
    """A memory snapshot of the run."""

    file: str  # in the run folder
    name: str  # of the file that the script dumps it to
    by_script: bool
