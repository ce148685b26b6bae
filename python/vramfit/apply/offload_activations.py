"""What autograd saves for the backward pass waits in host memory, and comes back when the backward pass asks for it.

What stays on the card: parameters and buffers and views of them, small tensors, what is not plain memory of a card. A
tensor that several operators save is copied once; PyTorch's counter of writes tells whether it is still the same.

A copy keeps the strides, so kernels in the backward pass see what they would have seen. Both ways run on the stream
that computes: what is copied can be given back at once, and nothing overtakes anything.
"""

from __future__ import annotations

import atexit
import functools
import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from torch.autograd.graph import saved_tensors_hooks

from vramfit import apply
from vramfit.apply import foreign_forwards, forwards
from vramfit.apply.named_modules import NamedModules
from vramfit.base import events, process
from vramfit.contract import plans
from vramfit.observe import scopes
from vramfit.private import deepspeed as of_deepspeed
from vramfit.private import torch as of_torch
from vramfit.private.names import need

need(of_torch.writes, of_torch.storage_reference)

ID = "offload_activations"
_OBSTACLES = MappingProxyType(
    {
        "compiled": "the model is compiled: torch.compile decides what it saves, and when",
        "sharded": "parameters are sharded: what is saved of them comes and goes with its module",
    }
)
_MOST_SPREAD = 4  # times a view's own bytes: a storage that goes as a whole, because views with gaps share it


@dataclass
class _Kept:
    """A tensor that stays on the card, as it was: autograd's own check for writes is off where there are hooks, so it
    is made here."""

    tensor: Any
    version: int


@dataclass
class _OnHost:
    host: Any
    device: Any


@dataclass
class _View:
    """A view of a storage that went as a whole."""

    whole: _OnHost
    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


def _is_dense(tensor: Any) -> bool:
    """Whether its elements fill the memory between the first and the last of them, each once."""
    filled = 1
    for stride, size in sorted((stride, size) for size, stride in zip(tensor.shape, tensor.stride()) if size != 1):
        if stride != filled:
            return False
        filled *= size
    return True


def _unchanged(kept: _Kept) -> Any:
    writes = of_torch.writes.of(kept.tensor)
    if writes != kept.version:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: a "
            f"tensor of {tuple(kept.tensor.shape)} is at version {writes}; expected version {kept.version} instead"
        )
    return kept.tensor


class _Region(saved_tensors_hooks):
    """Hooks that are told from the script's own by their class."""


class OffloadActivations:
    KEEPS = process.ALL  # but for what in_child() begins anew

    def __init__(self, torch: Any, options: plans.OffloadActivations) -> None:
        self._torch = torch
        self._least = options.at_least
        # Copies are compared as numbers of the same width: on a virtual card, truth values and whole numbers that the
        # host reads may decide something (values/data_reads.py), and these do not.
        self._as_fractions = {
            torch.bool: torch.float8_e5m2,
            torch.uint8: torch.float8_e5m2,
            torch.int8: torch.float8_e5m2,
            torch.int16: torch.float16,
            torch.int32: torch.float32,
            torch.int64: torch.float64,
        }
        self.depth_of_others = 0  # hooks on saved tensors that are not ours, in one another
        self.in_child()

    def in_child(self) -> None:
        self._region: _Region | None = None
        self._root: int | None = None  # id() of the root whose forward runs
        self._resident: set[int] = set()  # addresses of parameters' and buffers' storages
        # What of this forward pass is on the host already, by storage and writes; the reference keeps the storage's
        # number from being given to another.
        self._copies: dict[tuple[Any, ...], tuple[Any, _OnHost]] = {}

    # -- a forward pass

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        """The whole of a root's training forward."""
        root = scopes.root_of(module)
        if root is None or not root.parameters or self._root is not None or not self.is_training(module):
            return
        self._root = id(module)
        self.begin(module)

    def leave(self, module: Any, result: Any) -> None:
        if self._root == id(module):
            self._root = None
            self.end()

    def is_training(self, module: Any) -> bool:
        return module.training and self._torch.is_grad_enabled()

    def begin(self, module: Any) -> None:
        """`module` is the root whose forward begins, or one of the modules that the plan names."""
        if self._region is not None:
            return
        if obstacle := self.find_obstacle(module):
            apply.refused(ID, obstacle)
            return
        self._resident = {
            tensor.untyped_storage().data_ptr()
            for _, root in scopes.live_roots()
            for tensor in (*root.parameters(), *root.buffers())
            if scopes.is_there(tensor)
        }
        self._region = _Region(self.pack, self.unpack)
        self._region.__enter__()

    def end(self) -> None:
        region, self._region = self._region, None
        self._copies.clear()
        if region is not None:
            region.__exit__()

    def is_open(self) -> bool:
        return self._region is not None

    def find_obstacle(self, module: Any) -> str:
        if why := _OBSTACLES.get(foreign_forwards.kind_of(module)):
            return why
        if any(
            type(p) is not self._torch.nn.Parameter or of_deepspeed.whole_size.of(p, 0) for p in module.parameters()
        ):
            return "parameters are of a kind of their own (sharded or quantized): what is saved of them is not known"
        if self.depth_of_others:
            return (
                "the script has hooks on saved tensors around the model's forward (save_on_cpu, checkpointing of all)"
            )
        if self._torch.cuda.is_available() and self._torch.cuda.is_current_stream_capturing():
            return "the script captures a CUDA graph, whose host copies would stay where they are"
        return ""

    # -- a tensor

    def pack(self, tensor: Any) -> Any:
        whole = self._goes_as_whole(tensor)
        if whole is None:
            # detach(): a node that held its own output would never be freed.
            return _Kept(tensor.detach(), of_torch.writes.of(tensor))
        apply.applied(ID, "what is saved for the backward pass waits in host memory")
        if not whole:
            shape = (tensor.storage_offset(), tensor.dtype, tuple(tensor.shape), tensor.stride())
            return self._copy_once(tensor, tensor, shape)
        storage = tensor.untyped_storage()
        flat = self._torch.empty(0, dtype=self._torch.uint8, device=tensor.device).set_(storage)
        copy = self._copy_once(flat, tensor, ())
        return _View(copy, tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset())

    def _goes_as_whole(self, tensor: Any) -> bool | None:
        """True: with its storage, which other views share; False: by itself; None: it stays."""
        if type(tensor) not in (self._torch.Tensor, self._torch.nn.Parameter) or not tensor.is_cuda:
            return None
        own = tensor.numel() * tensor.element_size()
        if tensor.layout != self._torch.strided or own < max(self._least, 1) or tensor.is_conj() or tensor.is_neg():
            return None
        storage = tensor.untyped_storage()
        if storage.data_ptr() in self._resident:
            return None
        if _is_dense(tensor):
            return own == storage.nbytes()
        return True if storage.nbytes() <= _MOST_SPREAD * own else None

    def _copy_once(self, source: Any, saved: Any, shape: tuple[Any, ...]) -> _OnHost:
        """Copies `source`, whose writes `saved` counts."""
        storage = of_torch.storage_reference(saved.untyped_storage())
        stream = self._torch.cuda.current_stream(saved.device).cuda_stream
        key = (of_torch.storage_number.of(storage), of_torch.writes.of(saved), stream, *shape)
        known = self._copies.get(key)
        if known is not None and not of_torch.has_expired(known[0]):
            return known[1]
        copy = self._copy(source)
        self._copies[key] = (storage, copy)
        return copy

    def _copy(self, source: Any) -> _OnHost:
        source = self._steering_nothing(source.detach())
        host = self._torch.empty(math.prod(source.shape), dtype=source.dtype, pin_memory=True)
        host = host.as_strided(source.shape, source.stride())
        host.copy_(source, non_blocking=True)
        return _OnHost(host, source.device)

    def _steering_nothing(self, tensor: Any) -> Any:
        return tensor.view(self._as_fractions.get(tensor.dtype, tensor.dtype))

    def unpack(self, packed: Any) -> Any:
        if isinstance(packed, _Kept):
            return _unchanged(packed)
        if isinstance(packed, _OnHost):
            return self._bring_back(packed)
        storage = self._bring_back(packed.whole).untyped_storage()
        view = self._torch.empty(0, dtype=packed.dtype, device=packed.whole.device)
        return view.set_(storage, packed.offset, packed.shape, packed.strides)

    def _bring_back(self, packed: _OnHost) -> Any:
        host = packed.host
        made = self._torch.empty_strided(host.shape, host.stride(), dtype=host.dtype, device=packed.device)
        return made.copy_(host, non_blocking=True)


def _watch_others(torch: Any, technique: OffloadActivations) -> None:
    """Only the innermost hooks are asked: a script's own within a forward go before ours, and those around it would
    be shut out by ours."""
    entering, leaving = saved_tensors_hooks.__enter__, saved_tensors_hooks.__exit__

    @functools.wraps(entering)
    def enter(self: Any) -> Any:
        technique.depth_of_others += not isinstance(self, _Region)
        return entering(self)

    @functools.wraps(leaving)
    def leave(self: Any, *error: Any) -> Any:
        technique.depth_of_others -= not isinstance(self, _Region)
        return leaving(self, *error)

    saved_tensors_hooks.__enter__, saved_tensors_hooks.__exit__ = enter, leave
    graph = torch.autograd.graph
    original = graph.disable_saved_tensors_hooks

    @functools.wraps(original)
    def disable(*args: Any, **kwargs: Any) -> Any:
        if technique.is_open():
            apply.refused(ID, "the model's forward uses torch.func, which allows no hooks on saved tensors")
        return original(*args, **kwargs)

    graph.disable_saved_tensors_hooks = disable


class _OfModules:
    """Only what the named modules save."""

    KEEPS = process.ALL

    def __init__(self, technique: OffloadActivations, names: list[str]) -> None:
        self._technique = technique
        self.named = NamedModules(ID, names)

    def in_child(self) -> None:
        self.named.in_child()

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        for found in self.named.find(module).values():
            forwards.replace(found, self._through_host)

    def _through_host(self, module: Any, forward: Any, *args: Any, **kwargs: Any) -> Any:
        if self._technique.is_open() or not self._technique.is_training(module):
            return forward(*args, **kwargs)
        self._technique.begin(module)
        try:
            return forward(*args, **kwargs)
        finally:
            self._technique.end()


def install(torch: Any, options: plans.OffloadActivations) -> None:
    technique = process.own(OffloadActivations, torch, options)
    _watch_others(torch, technique)
    if names := options.modules:
        parts = process.own(_OfModules, technique, names)
        events.root_enter.listen(parts.enter)
        atexit.register(parts.named.at_end)
    else:
        events.root_enter.listen(technique.enter)
        events.root_exit.listen(technique.leave)
