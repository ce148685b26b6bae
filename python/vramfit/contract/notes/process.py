"""The process: what it is, how it ends, and what it asked for when memory ran out."""

from __future__ import annotations

from typing import Literal

from vramfit.contract.fields import Bytes, Note, PhaseName, Record

ProcessRole = Literal["main", "child"]
LaterRole = Literal["worker"]
ThreadRole = Literal["pin"]


class Process(Note, kind="process"):
    """What process this is, before its first other note."""

    torch: str
    cuda: str
    python: str
    rank: int = 0
    world_size: int = 1
    local_rank: int = -1  # without a launcher
    role: ProcessRole  # a child is one that multiprocessing started


class Rank(Note, kind="rank"):
    """When the card is first touched: by then a launcher's child knows which rank it is."""

    rank: int
    local_rank: int = -1
    world_size: int = 1


class Role(Note, kind="role"):
    """What a process turned out to be."""

    role: LaterRole  # of a data loader


class Thread(Note, kind="thread"):
    """A thread that libraries started for a purpose."""

    role: ThreadRole  # it pins batches
    thread: int  # its id


class LinesUnknown(Note, kind="lines_unknown"):
    """The recorder can't read the frames of this version of Python, and finds no lines."""

    python: str


class RecordingStopped(Note, kind="recording_stopped"):
    """Events after this are missing; the recorder writes it itself."""

    text: str


class BlocksUnseen(Note, kind="blocks_unseen"):
    """PyTorch gave this process memory of a card, and told the recorder of none of it."""

    torch: str
    allocator: str  # torch.cuda.get_allocator_backend()


class RealCard(Note, kind="real_card"):
    """The card that this process has under a number, with `--gpu real`; recorder/real_watch.cc writes it."""

    device: int
    name: str  # by the driver
    uuid: str  # as NVML spells it; empty: not told
    driver: str  # its version; empty: there is no NVML
    total_bytes: Bytes  # that CUDA can give
    tells_own: bool  # NVML says what this process holds


class HookFailed(Note, kind="hook_failed"):
    """One of our hooks failed and was left out."""

    where: str
    type: str
    message: str
    at: str = ""


class NameGone(Note, kind="name_gone"):
    """A private name that a release of a library has no more: what a hook does with it is left out."""

    library: str
    version: str
    name: str
    lost: str  # in plain words: "loaders are not cut"


class StackFrame(Record):
    """A frame of a traceback."""

    file: str
    line: int
    function: str
    code: str = ""


class Error(Note, kind="error"):
    """An uncaught exception that is not about memory."""

    type: str
    message: str
    stack: list[StackFrame]  # innermost last
    after_cut: bool = False  # an evaluation had been cut
    after_read: bool = False  # values that were not computed had been read


class Loading(Record):
    """How far a model had come that was on its way to the card."""

    how: str
    root: str
    module: str
    on_card_bytes: Bytes
    to_come_bytes: Bytes | None = None


class Oom(Note, kind="oom"):
    """An out-of-memory error that reached the top of the script, or was being handled when another one did."""

    message: str
    phase: PhaseName
    stack: list[StackFrame]  # innermost last
    loading: Loading | None = None
