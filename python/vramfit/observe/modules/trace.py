"""One forward pass of a model as its calls of modules and its operators, with what each read and wrote.

Below autograd every operator passes through a dispatch mode. Storages are told apart by weak references, so that an
address that is used again is not taken for what lay there before, and nothing lives longer than it would have.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from vramfit.base import composite, notes, process
from vramfit.contract import notes as said
from vramfit.contract.fields import PhaseName
from vramfit.observe import owners, scopes
from vramfit.observe.modules.work import work_of
from vramfit.private import torch as of_torch

_MOST_OPERATORS = 60_000  # of a forward pass: the note stays small enough to be read
_MOST_SHAPES = 4  # of a module's inputs or outputs
_GRAIN_BYTES = 512  # kMinBlockSize of c10/cuda/CUDACachingAllocator: block sizes are multiples of it
_MOST_NESTING = 3  # of lists of tensors among an operator's arguments


def _shape(tensor: Any) -> str:
    """ "8x3x224x224 float32" """
    return f"{'x'.join(map(str, tensor.shape)) or 'scalar'} {str(tensor.dtype).removeprefix('torch.')}"


def _bytes_of(tensor: Any) -> int:
    return tensor.numel() * tensor.element_size() if tensor.is_cuda else 0


def _tensors(value: Any, found: list[Any], depth: int = 0) -> list[Any]:
    """The tensors among an operator's arguments or results."""
    if hasattr(value, "untyped_storage"):
        found.append(value)
    elif isinstance(value, (list, tuple)) and depth < _MOST_NESTING:
        for item in value:
            _tensors(item, found, depth + 1)
    return found


@process.cached()
def _watch_class() -> Any:
    class Watch(of_torch.dispatch_mode.get()):  # type: ignore[misc]
        """Shows every operator that is more than a view to `see`, after it ran as it would have."""

        def __init__(self, see: Any) -> None:
            super().__init__()
            self.__see = see

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if composite.is_composite(func):
                return composite.take_apart(self, func, args, kwargs)
            out = func(*args, **kwargs)
            try:
                if not of_torch.is_view(func):
                    self.__see(func, args, kwargs, out)
            except Exception as error:
                notes.hook_failed("modules.operator", error)
            return out

    return Watch


class _Storages:
    """Numbers for storages, in the order in which they are met."""

    def __init__(self) -> None:
        self.sizes: list[int] = []  # 0: not on a card
        self._make_reference = of_torch.storage_reference.get()
        self._numbers: dict[int, int] = {}  # by address of the storage's C++ object
        self._references: list[Any] = []

    def number_of(self, tensor: Any) -> int:
        """-1 for a tensor without a storage of its own: sparse, wrapper subclasses."""
        tensor = of_torch.local_tensor.of(tensor, tensor)
        try:
            storage = tensor.untyped_storage()
            key = of_torch.storage_object.of(storage)
        except (RuntimeError, NotImplementedError):
            return -1
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self._references)
            # While the weak reference is held the C++ object's address isn't used again; its memory may go.
            self._references.append(self._make_reference(storage))
            self.sizes.append(storage.nbytes() if tensor.is_cuda else 0)
        return known

    def numbers_of(self, tensors: list[Any]) -> list[int]:
        return sorted({number for number in map(self.number_of, tensors) if number >= 0})

    def alive(self, numbers: set[int]) -> list[said.TraceAlive]:
        """Those of these storages on a card that something still holds, with the sizes of their blocks."""
        return [
            said.TraceAlive(storage=number, bytes=-(-self.sizes[number] // _GRAIN_BYTES) * _GRAIN_BYTES)
            for number in sorted(numbers)
            if self.sizes[number] and not of_torch.has_expired(self._references[number])
        ]


class Trace:
    """The trace of one call of a model. Frames are calls of modules; the first is the model's own.

    frame: index of the module, frame around it, when it began and ended, bytes of its outputs, shapes in and out
    operator: frame, name, storages read, storages written, FLOPs of forward and backward, their type, bytes touched
    """

    def __init__(self, root: int, indices: dict[int, int], sees_operators: bool) -> None:
        self._root = root
        self._indices = indices
        self._sees_operators = sees_operators
        self._frames: list[said.TraceFrame] = []
        self._open: list[int] = []
        self._operators: list[said.TraceOperator] = []
        self._names: dict[str, int] = {}
        self._storages = _Storages()
        self._made: set[int] = set()
        self._inputs: list[int] = []
        self._outputs: list[Any] = []
        self._module = 0
        self._thread = threading.get_ident()
        self._mode: Any = None
        self._is_cut = False

    def is_of(self, module: Any) -> bool:
        return self._module == id(module)

    def begin(self, module: Any, args: Any, kwargs: Any) -> None:
        self._module = id(module)
        if scopes.unwrap(module) is not module:
            self._indices = {**self._indices, id(module): 0}
        self.enter(module, args, kwargs)
        if self._sees_operators:
            self._inputs = self._storages.numbers_of([t for _, t in owners.tensors_in(args, kwargs)])
            self._mode = _watch_class()(self._see)
            self._mode.__enter__()

    def end(self, result: Any) -> None:
        """The model's own call ends."""
        if self._mode is not None:
            self._mode.__exit__(None, None, None)
        while self._open:
            self._close(self._open.pop(), result)
        if self._sees_operators:
            outputs = owners.tensors_in(result)
            self._outputs = [
                said.TraceOutput(storage=self._storages.number_of(tensor), name=name, bytes=_bytes_of(tensor))
                for name, tensor in outputs
            ]

    def enter(self, module: Any, args: Any, kwargs: Any = None) -> None:
        if threading.get_ident() != self._thread:
            return
        index = self._indices.get(id(module), -1)
        around = self._open[-1] if self._open else -1
        shapes = [_shape(tensor) for _, tensor in owners.tensors_in(args, kwargs or {})[:_MOST_SHAPES]]
        self._open.append(len(self._frames))
        began = time.monotonic_ns()
        self._frames.append(
            said.TraceFrame(
                module=index, around=around, began_ns=began, ended_ns=0, output_bytes=0, inputs=shapes, outputs=[]
            )
        )

    def leave(self, module: Any, result: Any) -> None:
        # The model's own frame is closed by end().
        if threading.get_ident() == self._thread and len(self._open) > 1:
            self._close(self._open.pop(), result)

    def _close(self, number: int, result: Any) -> None:
        outputs = [tensor for _, tensor in owners.tensors_in(result)]
        frame = self._frames[number]
        frame.ended_ns = time.monotonic_ns()
        frame.output_bytes = sum(map(_bytes_of, outputs))
        frame.outputs = [_shape(tensor) for tensor in outputs[:_MOST_SHAPES]]

    def _see(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        if self._is_cut or threading.get_ident() != self._thread:
            return
        if len(self._operators) >= _MOST_OPERATORS:
            self._is_cut = True
            return
        inputs, outputs = _tensors(list(kwargs.values()), _tensors(args, [])), _tensors(out, [])
        reads = self._storages.numbers_of(inputs)
        known = len(self._storages.sizes)
        writes = self._storages.numbers_of(outputs)
        self._made.update(number for number in writes if number >= known)
        name = of_torch.name_of(func).removeprefix("aten::")
        work = work_of(func, args, kwargs, out, inputs + outputs)
        self._operators.append(
            said.TraceOperator(
                frame=self._open[-1] if self._open else 0,
                name=self._names.setdefault(name, len(self._names)),
                reads=reads,
                writes=writes,
                forward_flops=work.forward,
                backward_flops=work.backward,
                number=work.dtype,
                touched_bytes=work.touched_bytes,
            )
        )

    def write(self, phase: PhaseName) -> None:
        torch = sys.modules["torch"]
        notes.note(
            said.ModuleTrace(
                root=self._root,
                phase=phase,
                device=torch.cuda.current_device() if torch.cuda.is_initialized() else 0,
                sees_operators=self._sees_operators,
                cut=self._is_cut,
                frames=self._frames,
                names=list(self._names),
                operators=self._operators,
                alive=self._storages.alive(self._made),
                sizes=self._storages.sizes,
                inputs=self._inputs,
                outputs=self._outputs,
            )
        )
