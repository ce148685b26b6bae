"""Who holds memory, and what made it grow (`--diagnose`)."""

from __future__ import annotations

from typing import Literal

from vramfit.contract.fields import Address, Bytes, Note, PhaseName, Record

HolderKind = Literal[
    "global",
    "local",
    "attribute",  # of a module or an object that a global or local names
    "closure",
    "hook",
    "exception",
    "notebook",  # Out[], _, _12
    "generator",
    "class",
    "object",  # of a class of the script's, which no name leads to
    "graph",  # only autograd holds it
    "unknown",
]


class Holder(Record):
    """The named thing at the end of the chain of references that keeps a tensor alive."""

    kind: HolderKind = "unknown"
    name: str = ""  # as the script would write it: "losses[0]", "self.history['loss'][-1]"
    where: str = ""  # local, closure, generator: the function, "train.py:84 in train"; global: the module
    container: str = ""  # type of what holds it directly: "list", "dict", "deque"
    length: int = -1  # how much that container holds; -1: it has no length
    chain: list[str]  # from the named thing to the tensor: "global losses", "list of 12", "Tensor"
    filled_at: list[str]  # lines that add to what has that name, "train.py:16 in Log.add"


class TensorGroup(Record):
    """Tensors that are alike, kept by one holder. `address` and the note's `at_ns` find a block of theirs."""

    holder: Holder
    address: Address = 0
    shape: str = ""  # of the largest: "float32 [64, 1000]"
    tensors: int
    bytes: Bytes  # storages counted once
    has_graph: bool  # with a grad_fn: its graph, and what that saved, lives as long
    operation: str = ""  # the grad_fn's name, "NllLossBackward0"
    line: str = ""  # that allocated them; the recording knows better


class GrowingGraph(Record):
    """An autograd graph that gets longer."""

    holder: Holder
    nodes_before: int
    nodes_after: int
    counted_all: bool


class Diagnosed(Note, kind="diagnosed"):
    """Causes are looked for: the notes below may follow."""


class KeptAcrossSteps(Note, kind="kept_across_steps"):
    """What outlives the step that made it."""

    phase: PhaseName
    at_ns: int  # CLOCK_MONOTONIC, here and below
    tensors: list[TensorGroup]
    graphs: list[GrowingGraph]


class Collected(Note, kind="collected"):
    """Python's collector was asked to free cycles of objects, while memory grew that no name leads to."""

    is_on: bool  # else it was not asked: the script has turned it off
    begun_ns: int
    ended_ns: int
    freed_bytes: Bytes


class ModelCalls(Note, kind="model_calls"):
    """When the model that a script calls most before its first optimizer step was called."""

    stride: int  # calls from one that is listed to the next
    begun_ns: list[int]


class KeptFromTraining(Note, kind="kept_from_training"):
    """What of the training is on the card when an evaluation begins."""

    phase: PhaseName  # that begins
    at_ns: int
    allocated_bytes: Bytes
    gradient_bytes: Bytes
    tensors: list[TensorGroup]


class HeldAtOom(Note, kind="held_at_oom"):
    """What lives when memory runs out."""

    at_ns: int
    tensors: list[TensorGroup]


class HeldAtRise(Note, kind="held_at_rise"):
    """What there is more of than before, at a moment when more was allocated than ever."""

    at_ns: int
    tensors: list[TensorGroup]


class EvaluationForward(Note, kind="evaluation_forward"):
    """A forward of an evaluation, and what it leaves on the card."""

    phase: PhaseName
    root: str
    line: str
    grad_enabled: bool
    inference_mode: bool
    module_training: bool
    has_graph: bool
    saved_bytes: Bytes
    output_bytes: Bytes
    calls: int


class NeedlessCopy(Note, kind="needless_copy"):
    """Copies of the same tensor on the card."""

    operation: str
    line: str
    first_line: str
    shape: str
    bytes: Bytes
    copies: int
    from_host: bool


class WeightCopy(Note, kind="weight_copy"):
    """Weights that are on the card a second time."""

    at_ns: int
    address: Address
    holder: Holder
    tensors: int
    bytes: Bytes


class CheckpointLoad(Note, kind="checkpoint_load"):
    """A checkpoint that was read onto the card; again after the first step, with what was kept of it."""

    line: str
    path: str
    map_location: str
    on_card_bytes: Bytes
    kept_bytes: Bytes
    final: bool
    holder: Holder | None = None


class AttentionScores(Note, kind="attention_scores"):
    """Attention that writes its scores out."""

    operation: str
    line: str
    shape: str
    length: int
    bytes: Bytes
    calls: int
