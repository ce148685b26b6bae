"""Sizes and branches that the script takes from device memory.

Under `--values zeros` device memory reads as zeros, so a size that depends on data is too small and a branch may go the
other way: the result must say so, with the script's line. What counts is a read that decides something: positions and
masks (a size), a tensor used as a condition (a branch), and whole numbers (often a size or an index). A floating-point
number that is read (a loss to print) is noted only where a test stands on it (steering.py). Data that came
from the host is known, and reading it is no news: the virtual GPU counts the reads of memory that only a kernel wrote.

At the first such read the job is run again with tracked values (restart.py), where that is allowed; else it is noted.
"""

from __future__ import annotations

import atexit
import functools
import sys
from collections.abc import Callable
from types import FrameType, MappingProxyType, ModuleType
from typing import Any

from vramfit.base import notes, process
from vramfit.contract import notes as said
from vramfit.contract.functions import bind, find_virtual_gpu
from vramfit.private import torch as of_torch
from vramfit.values import checks, no_sequence, restart, steering
from vramfit.values.standing_in import keep_scriptable
from vramfit.values.tracked import lines

SIZE, BRANCH, NUMBER = "a size", steering.BRANCH, "a whole number"

_TENSOR_METHODS = MappingProxyType(
    {
        "nonzero": SIZE,
        "masked_select": SIZE,
        "unique_consecutive": SIZE,
        "repeat_interleave": SIZE,
        "bincount": SIZE,
        "allclose": BRANCH,
        "equal": BRANCH,
        "__bool__": BRANCH,
        "__int__": NUMBER,
        "__float__": NUMBER,
        "__index__": NUMBER,
        "item": NUMBER,
        "tolist": NUMBER,
    }
)
_FUNCTIONS = MappingProxyType(
    {
        "nonzero": SIZE,
        "masked_select": SIZE,
        "repeat_interleave": SIZE,
        "bincount": SIZE,
        "where": SIZE,
        "allclose": BRANCH,
        "equal": BRANCH,
    }
)


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.seen: set[tuple[Any, int, str]] = set()
        self.noted: set[tuple[str, str]] = set()
        self.originals: list[tuple[Any, str, Any]] = []
        self.copies: dict[str, Any] = {}
        self.watches = True
        self.compilations = 0  # that run
        self.ever_compiled = False
        self.hears_compilations = False  # from PyTorch, when one begins and ends
        self.seen_reads = 0  # of a few bytes: those that were seen being made


_state = process.own(_State)


def _find_counter(kind: str) -> Callable[[], int] | None:
    """How often device memory that no host copy wrote was read back: `unknown`, or `device` for a few bytes; `small`
    for a few bytes whoever wrote them. None where there is no virtual GPU."""
    library = find_virtual_gpu()
    return bind(library, f"vramfit_gpu_{kind}_reads") if library is not None else None


def has_read() -> bool:
    """Whether the host has read bytes that a kernel wrote, or may have changed: a count that a host copy began and the
    card adds to."""
    counters = [_find_counter(kind) for kind in ("unknown", "small")]
    return any(counter is not None and counter() > 0 for counter in counters)


def install(torch: Any) -> None:
    counter, few = _find_counter("unknown"), _find_counter("device")
    if counter is None or few is None:
        return
    _watch(torch, counter, few)
    torch.compile = _unpatched_while_tracing(torch, torch.compile, counter, few)


def _watch(torch: ModuleType, counter: Callable[[], int], few: Callable[[], int]) -> None:
    for place in (torch.Tensor, torch):
        original = place.repeat_interleave
        _replace(place, "repeat_interleave", _sized_repetition(original, torch.Tensor))
        keep_scriptable(original, place.repeat_interleave)
    watch = functools.partial(_watched, torch, counter, few)
    for name, decides in _TENSOR_METHODS.items():
        _replace(torch.Tensor, name, watch(getattr(torch.Tensor, name), name.strip("_"), decides))
    # What torch.unique and Tensor.unique call; torch.unique itself is built into TorchScript.
    unique = {} if of_torch.unique.is_gone() else {of_torch.unique.name: SIZE}
    for name, decides in {**_FUNCTIONS, **unique}.items():
        original = getattr(torch, name)
        _replace(torch, name, watch(original, name.strip("_"), decides))
        keep_scriptable(original, getattr(torch, name))
    eig = torch.linalg.eig  # other operators that refuse end the job, which then runs again with values followed
    _replace(torch.linalg, "eig", checks.passing(eig))
    keep_scriptable(eig, torch.linalg.eig)
    for name in ("cpu", "to", "copy_"):
        if name not in _state.copies:
            _state.copies[name] = _watched_copy(torch, counter, few, getattr(torch.Tensor, name), name)
            _allow_before_shapes(torch, _state.copies[name])
        _replace(torch.Tensor, name, _state.copies[name])
    if no_sequence.is_possible():
        for name in ("__getitem__", "__setitem__"):
            _replace(torch.Tensor, name, _watched_indexing(torch, getattr(torch.Tensor, name), counter))
        no_sequence.restore(torch.Tensor)


def _replace(place: Any, name: str, replacement: Any) -> None:
    _state.originals.append((place, name, vars(place).get(name)))
    setattr(place, name, replacement)


def stop() -> None:
    """Stops for good: values are followed from here on."""
    _state.watches = False
    put_back()


def put_back() -> None:
    while _state.originals:
        place, name, own = _state.originals.pop()
        if own is not None:
            setattr(place, name, own)
        else:
            delattr(place, name)  # it was inherited


def _unpatched_while_tracing(
    torch: ModuleType, compiler: Any, counter: Callable[[], int], few: Callable[[], int]
) -> Any:
    """torch.compile traces Python and stumbles over replaced functions: while it traces, they are the original ones.
    What compiled code reads is only counted."""

    def begin(*_: Any) -> None:
        if not _state.ever_compiled:
            _state.ever_compiled = True
            atexit.register(_note_unwatched, few, few() - _state.seen_reads)
        _state.compilations += 1
        if _state.originals:
            no_sequence.forget(torch.Tensor)
            put_back()

    def end(*_: Any) -> None:
        _state.compilations -= 1
        if _state.compilations == 0 and _state.watches and not _state.originals:
            _watch(torch, counter, few)

    def register() -> bool:
        handler = of_torch.compiler_callbacks.get()
        if handler is None or not (of_torch.on_compile_start.is_in(handler) and of_torch.on_compile_end.is_in(handler)):
            return False
        of_torch.on_compile_start.of(handler)(begin)
        of_torch.on_compile_end.of(handler)(end)
        return True

    @functools.wraps(compiler)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _state.hears_compilations:
            return compiler(*args, **kwargs)
        begin()
        made = compiler(*args, **kwargs)
        _state.hears_compilations = register()
        if _state.hears_compilations:  # else nobody says when it traces
            end()
        return made

    return call


def _note_unwatched(few: Callable[[], int], before: int) -> None:
    if reads := few() - _state.seen_reads - before:
        notes.note(said.DataRead(what="device memory (in compiled code the line is not known)", line="", count=reads))


def _watched(
    torch: ModuleType, counter: Callable[[], int], few: Callable[[], int], original: Any, name: str, decides: str
) -> Any:
    """`original`, noting where it was called when it read device data."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        first = args[0] if args else None
        if not (isinstance(first, torch.Tensor) and first.is_cuda):
            return original(*args, **kwargs)
        before, before_few = counter(), few()
        result = original(*args, **kwargs)
        _state.seen_reads += few() - before_few
        if counter() != before:
            if decides is not NUMBER or not _is_fractional(result):
                _note(sys._getframe(1), decides, name)
            elif decided := steering.decided_by(sys._getframe(1)):
                _note(sys._getframe(1), decided, name, again=decided is steering.LOOP)
        return result

    return call


def _watched_copy(
    torch: ModuleType, counter: Callable[[], int], few: Callable[[], int], original: Any, name: str
) -> Any:
    """Copies to the host. Truth values and single whole numbers that are copied steer: a flag may go to pinned memory
    in one step and looked at in the next."""
    plain = (torch.Tensor, torch.nn.Parameter)

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        source = self if name != "copy_" else args[0] if args else kwargs.get("src")
        # The type decides: subclasses answer for themselves, and one without a storage has no device to ask for.
        if type(source) not in plain or not source.is_cuda:
            return original(self, *args, **kwargs)
        before, before_few = counter(), few()
        result = original(self, *args, **kwargs)
        _state.seen_reads += few() - before_few
        if counter() != before and _may_steer(torch, source):
            _note(sys._getframe(1), BRANCH if source.dtype == torch.bool else NUMBER, name.strip("_"))
        return result

    return call


def _allow_before_shapes(torch: ModuleType, replacement: Any) -> None:
    """A parameter of a lazy module has no shape before its first forward pass, and knows by identity what it may do."""
    allowed = of_torch.lazy_methods.get()
    if isinstance(allowed, list):
        allowed.append(replacement)


def _may_steer(torch: ModuleType, tensor: Any) -> bool:
    if tensor.dtype == torch.bool:
        return True
    return tensor.numel() == 1 and not tensor.is_floating_point() and not tensor.is_complex()


def _sized_repetition(original: Any, tensor: type) -> Any:
    """`repeat_interleave` that adds up the repeats on the host. PyTorch checks on the card that none is negative, and
    that check reads as failed where kernels do nothing; with a size given it makes none."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        repeats = kwargs.get("repeats", args[min(1, len(args) - 1)] if args else None)
        if isinstance(repeats, tensor) and repeats.is_cuda and kwargs.get("output_size") is None:  # type: ignore[attr-defined]
            size = int(repeats.cpu().sum())  # type: ignore[attr-defined]
            if repeats.numel() == 1 and args and args[0] is not repeats:  # type: ignore[attr-defined]
                dim = kwargs.get("dim", args[2] if len(args) > 2 else None)
                size *= args[0].numel() if dim is None else args[0].size(dim)
            kwargs = {**kwargs, "output_size": max(size, 0)}
        return original(*args, **kwargs)

    return call


def _watched_indexing(torch: ModuleType, original: Any, counter: Callable[[], int]) -> Any:
    masks = (torch.bool, torch.uint8)
    tensor = torch.Tensor

    @functools.wraps(original)
    def call(self: Any, key: Any, *value: Any) -> Any:
        if not self.is_cuda or not _has_mask(key, tensor, masks):
            return original(self, key, *value)
        before = counter()
        try:
            return original(self, key, *value)
        finally:
            if counter() != before:
                _note(sys._getframe(1), SIZE, "boolean mask")

    return call


def _has_mask(key: Any, tensor: type, masks: tuple[Any, ...]) -> bool:
    if isinstance(key, tensor):
        return key.dtype in masks  # type: ignore[attr-defined]
    if type(key) is tuple:
        return any(isinstance(part, tensor) and part.dtype in masks for part in key)  # type: ignore[attr-defined]
    return False


def _is_fractional(result: Any) -> bool:
    while isinstance(result, list) and result:
        result = result[0]
    return isinstance(result, (float, complex))


def _note(frame: FrameType, decides: str, name: str, again: bool = True) -> None:
    if again:
        restart.with_values()
    caller = (frame.f_code, frame.f_lineno, name)
    if caller in _state.seen:
        return
    _state.seen.add(caller)
    what, line = f"{decides} ({name})", lines.own_line(frame)
    if (what, line) not in _state.noted:
        _state.noted.add((what, line))
        notes.note(said.DataRead(what=what, line=line, is_branch=decides == BRANCH))
