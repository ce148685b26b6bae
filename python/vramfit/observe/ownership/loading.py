"""A model that was on its way to the card when memory ran out: at which module, how much was there, how much to come.

moved    `model.to(...)`, `.cuda()`: PyTorch's own walk over the modules is on the stack
loaded   a loader fills a model that is partly on the card and partly nowhere or on the host
built    constructors that allocate on the card; how large the model would have become is not known
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from vramfit.base import process
from vramfit.contract import notes as said
from vramfit.observe import scopes
from vramfit.observe.ownership import storages, walk
from vramfit.private import torch as of_torch

_MODULE_FILE = "torch/nn/modules/module.py"
_CALLS = (of_torch.call_module.name, of_torch.wrapped_call_module.name)


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.seen: said.Loading | None = None  # what was being built at the last OOM


_state = process.own(_State)


def progress(torch: Any, trace: TracebackType | None) -> said.Loading | None:
    """Reads it from the traceback of the error, outermost frame first. None: no model was being put on the card."""
    frames = list(_frames(trace))
    if any(_is_of_module(frame) and frame.f_code.co_name in _CALLS for frame in frames):
        return None  # a forward pass
    found = _moved(torch, frames) or _loaded(torch, frames)
    # What constructors had made is gone by the time that the error is seen.
    return found or (_state.seen if _chain(torch, frames) else None)


def look(torch: Any, frame: FrameType | None) -> None:
    """Called at the moment of an OOM, while constructors still run: `frame` is the innermost of theirs."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    _state.seen = _built(torch, frames[::-1])


def _frames(trace: TracebackType | None) -> Iterator[FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _is_of_module(frame: FrameType) -> bool:
    return frame.f_code.co_filename.replace("\\", "/").endswith(_MODULE_FILE)


def _moved(torch: Any, frames: list[FrameType]) -> said.Loading | None:
    selves = [
        frame.f_locals.get("self")
        for frame in frames
        if _is_of_module(frame) and frame.f_code.co_name == of_torch.move_module.name
    ]
    selves = [each for each in selves if isinstance(each, torch.nn.Module)]
    if not selves:
        return None
    return _note_of("moved", selves[0], _name_within(selves[0], selves[-1]))


def _name_within(root: Any, module: Any) -> str:
    return next((name for name, each in root.named_modules() if each is module), "")


def _loaded(torch: Any, frames: list[FrameType]) -> said.Loading | None:
    """The outermost frame with a variable for a model that is only partly there."""
    for frame in frames:
        for value in list(frame.f_locals.values()):
            if not isinstance(value, torch.nn.Module) or of_torch.parameters.name not in value.__dict__:
                continue
            on_card, to_come = _sizes(value)
            if on_card and to_come:
                return _note_of("loaded", value, _module_at(value, frames))
    return None


def _module_at(model: Any, frames: list[FrameType]) -> str:
    """The module whose parameter the innermost frame speaks of by its name."""
    known = {name for name, _ in (*model.named_parameters(), *model.named_buffers())}
    for frame in reversed(frames):
        for value in list(frame.f_locals.values()):
            if isinstance(value, str) and value in known:
                return value.rpartition(".")[0]
    return ""


def _chain(torch: Any, frames: list[FrameType]) -> list[Any]:
    """The modules whose constructors run, outermost first."""
    chain: list[Any] = []
    for frame in frames:
        value = frame.f_locals.get(frame.f_code.co_varnames[0]) if frame.f_code.co_name == "__init__" else None
        if isinstance(value, torch.nn.Module) and not (chain and chain[-1] is value):
            chain.append(value)
    return chain


def _built(torch: Any, frames: list[FrameType]) -> said.Loading | None:
    chain = _chain(torch, frames)
    if not chain:
        return None
    return said.Loading(
        how="built",
        root=type(chain[0]).__name__,
        module=" > ".join(type(each).__name__ for each in chain) if len(chain) > 1 else "",
        on_card_bytes=_bytes_on_card(walk.living().modules),
        to_come_bytes=None,
    )


def _note_of(how: str, root: Any, module: str) -> said.Loading:
    on_card, to_come = _sizes(root)
    return said.Loading(
        how=how,
        root=type(scopes.unwrap(root)).__name__,
        module=module,
        on_card_bytes=on_card,
        to_come_bytes=to_come,
    )


def _sizes(model: Any) -> tuple[int, int]:
    """Bytes of a model on the card, and of what is elsewhere or nowhere."""
    on_card = to_come = 0
    for tensor in (*model.parameters(), *model.buffers()):
        if scopes.is_there(tensor):
            size = storages.bytes_of(tensor)
            on_card += size if tensor.is_cuda else 0
            to_come += 0 if tensor.is_cuda else size
    return on_card, to_come


def _bytes_on_card(modules: list[Any]) -> int:
    """The bytes of the modules on a card, of those that belong to nothing yet too, each storage once."""
    found: dict[int, int] = {}
    for module in modules:
        for tensor in (*of_torch.parameters.of(module).values(), *of_torch.buffers.of(module).values()):
            if tensor is not None and scopes.is_there(tensor) and tensor.is_cuda:
                found[storages.address_of(tensor)] = storages.bytes_of(tensor)
    return sum(found.values())
