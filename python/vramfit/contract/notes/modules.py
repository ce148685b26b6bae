"""The network's table (`--modules`)."""

from __future__ import annotations

from vramfit.contract.fields import Bytes, Note, PhaseName, Row


class ModulesWatched(Note, kind="modules_watched"):
    """Modules are watched: the notes below may follow."""


class ListedModule(Row):
    """A module with what is its own: what lies in modules below it is theirs."""

    name: str
    class_name: str
    parameters: int
    parameter_bytes: Bytes
    buffer_bytes: Bytes


class ModuleList(Note, kind="module_list"):
    """The modules of a model, as in named_modules(); models are numbered from 0 on."""

    root: int
    prefix: str
    modules: list[ListedModule]


class TraceFrame(Row):
    """One call of a module."""

    module: int  # -1: one that the model does not list
    around: int  # the frame it was called in, or -1
    began_ns: int
    ended_ns: int
    output_bytes: Bytes
    inputs: list[str]
    outputs: list[str]


class TraceOperator(Row):
    """One operator; storages are places in `sizes`."""

    frame: int
    name: int  # its place in `names`
    reads: list[int]
    writes: list[int]
    forward_flops: float
    backward_flops: float
    number: int  # Dtype (numbers.py) of its arithmetic
    touched_bytes: float


class TraceAlive(Row):
    """A storage that the forward made and that lived at its end, with its block's size."""

    storage: int
    bytes: Bytes


class TraceOutput(Row):
    """A tensor that the model returned."""

    storage: int  # -1: not on a card
    name: str  # the key it was under, where there was one
    bytes: Bytes


class ModuleTrace(Note, kind="module_trace"):
    """One forward of a model, as calls and operators."""

    root: int
    phase: PhaseName
    device: int
    sees_operators: bool  # False: the model is compiled
    cut: bool  # too many operators: the last are missing
    frames: list[TraceFrame]
    names: list[str]
    operators: list[TraceOperator]
    alive: list[TraceAlive]
    sizes: list[Bytes]  # of storages
    inputs: list[int]
    outputs: list[TraceOutput]


class ModuleBytes(Row):
    """Bytes of one module."""

    root: int
    module: int
    bytes: Bytes


class ModuleGradients(Note, kind="module_gradients"):
    """Just before an optimizer steps, when all gradients are there."""

    bytes: list[ModuleBytes]


class ModuleStates(Note, kind="module_states"):
    """State of optimizers."""

    bytes: list[ModuleBytes]
