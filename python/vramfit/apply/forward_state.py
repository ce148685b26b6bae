"""What a module's forward changes beside its outputs, and how it was before: a second run is to find it so.

A counter that anneals a temperature, a generator of the script's own, a list of losses, what `random` and numpy draw:
run again in backward, such a forward would compute something else and change them twice. So everything that the
modules' code can reach by a name is noted before a first run (attributes of the modules and of the script's objects
that they hold, what their classes' code names among its globals, generators, contents of lists, dictionaries and sets);
what is another after it is put back for the second run, and back again behind that.

Writes are counted by autograd, but for those through `.data`; a module's first run is watched for these, operator by
operator. Small buffers are copied: those that power iterations advance (spectral norms), counters. Large ones hold
memory of the card, which a copy would take once more: a forward that writes to them is refused.
"""

from __future__ import annotations

import collections
import inspect
import random
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import CodeType, FunctionType, ModuleType
from typing import Any, Optional

from vramfit.base import frames, process
from vramfit.private import torch as of_torch

_MISSING = object()
_DEPTH = 4  # of containers and objects within a module's attributes
_MOST = 4096  # entries of one container; a longer one whose length changes is not put back
_SMALL_BUFFER = 1 << 16  # bytes of a buffer that is copied before a first run
_SMALL = 1 << 20  # bytes of a tensor that is kept for a second run: the state of a recurrent layer
_OWN = "_vramfit"  # what our hooks put into modules

# Whether it is another now, and a function that puts it back and returns one that undoes that.
_Undo = Callable[[], None]
_Restore = Callable[[], _Undo]
_Slot = Callable[[], Optional[_Restore]]


class _TensorThere(weakref.ref):  # type: ignore[type-arg]
    """Large tensors of earlier forwards are not kept alive for this: a second run that asks for one fails."""


def _held(value: Any) -> Any:
    is_tensor = isinstance(value, sys.modules["torch"].Tensor)
    is_small = is_tensor and value.grad_fn is None and value.numel() * value.element_size() <= _SMALL
    return _TensorThere(value) if is_tensor and not is_small else value


def _got(held: Any) -> Any:
    if not isinstance(held, _TensorThere):
        return held
    value = held()
    return _MISSING if value is None else value


def _is_same(held: Any, now: Any) -> bool:
    return _got(held) is now


def _entries(target: Any, chosen: Callable[[str], bool]) -> _Slot:
    """Names in a dictionary: attributes of an object, globals, or what a script keeps in one."""
    before = {key: _held(value) for key, value in target.items() if chosen(key)}

    def find() -> _Restore | None:
        now = {key: value for key, value in target.items() if chosen(key)}
        changed = {key: before.get(key, _MISSING) for key in before.keys() | now.keys()}
        changed = {key: held for key, held in changed.items() if not _is_same(held, now.get(key, _MISSING))}
        return (lambda: _put(target, {key: _got(held) for key, held in changed.items()})) if changed else None

    return find


def _put(target: Any, values: dict[Any, Any]) -> _Undo:
    present = {key: target.get(key, _MISSING) for key in values}
    _write(target, values)
    return lambda: _write(target, present)


def _write(target: Any, values: dict[Any, Any]) -> None:
    for key, value in values.items():
        if value is _MISSING:
            target.pop(key, None)
        else:
            target[key] = value


def _contents(target: Any) -> _Slot:
    """The slot of a list, a deque or a set."""
    before = [_held(value) for value in target]

    def fill(values: list[Any]) -> None:
        target.clear()
        target.update(values) if isinstance(target, set) else target.extend(values)

    def restore() -> _Undo:
        present = list(target)
        fill([value for held in before if (value := _got(held)) is not _MISSING])
        return lambda: fill(present)

    def find() -> _Restore | None:
        same = len(before) == len(target) and all(map(_is_same, before, target))
        return None if same else restore

    return find


def _class_variables(kind: type) -> _Slot:
    def read() -> dict[str, Any]:
        return {n: v for n, v in vars(kind).items() if not n.startswith("__") and not _is_code(v)}

    before = {name: _held(value) for name, value in read().items()}

    def write(values: dict[str, Any]) -> None:
        for name, value in values.items():
            delattr(kind, name) if value is _MISSING else setattr(kind, name, value)

    def find() -> _Restore | None:
        now = read()
        changed = [n for n in before.keys() | now.keys() if not _is_same(before.get(n, _MISSING), now.get(n, _MISSING))]

        def restore() -> _Undo:
            present = {name: read().get(name, _MISSING) for name in changed}
            write({name: _got(before.get(name, _MISSING)) for name in changed})
            return lambda: write(present)

        return restore if changed else None

    return find


def _is_code(value: Any) -> bool:
    return isinstance(value, (type, FunctionType, ModuleType)) or hasattr(value, "__get__")


def _state(get: Callable[[], Any], put: Callable[[Any], Any], is_same: Callable[[Any, Any], bool]) -> _Slot:
    """The slot of something that draws random numbers."""
    before = get()

    def restore() -> _Undo:
        present = get()
        put(before)
        return lambda: put(present)

    return lambda: None if is_same(before, get()) else restore


def _buffer(part: Any, name: str, copy: Any) -> _Restore:
    """Another run writes to a copy of its own: the buffer itself has moved on."""

    def restore() -> _Undo:
        buffers = of_torch.buffers.of(part)
        present = buffers[name]
        buffers[name] = copy.clone()
        return lambda: buffers.__setitem__(name, present)

    return restore


def _cell(cell: Any) -> _Slot:
    """A variable of the function that a forward was made in."""
    before = _held(cell.cell_contents)

    def restore() -> _Undo:
        present = cell.cell_contents
        cell.cell_contents = _got(before)
        return lambda: setattr(cell, "cell_contents", present)

    return lambda: None if _is_same(before, cell.cell_contents) else restore


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


@process.cached()
def _names_of_any_module() -> frozenset[str]:
    return frozenset(vars(sys.modules["torch"].nn.Module()))


class _Walk:
    def __init__(self, module: Any) -> None:
        torch = sys.modules["torch"]
        self.slots: list[_Slot] = []
        self.tensors: list[tuple[str, Any, int]] = []  # names, references and counts of writes
        self.long_ones: list[tuple[str, Any, int]] = []  # containers, and their lengths
        self._seen: set[int] = set()
        self._generator = torch.Generator
        self._equal = torch.equal
        self._base = _names_of_any_module()
        kinds = set()
        for part in module.modules():
            kinds.add(type(part))
            self._attributes(part, self._is_own_of_module, _DEPTH)
        for kind in kinds:
            if frames.is_script_file(getattr(sys.modules.get(kind.__module__), "__file__", None) or ""):
                self.slots.append(_class_variables(kind))
                self._code_of(kind)
        self.slots.append(_state(random.getstate, random.setstate, lambda a, b: a == b))
        if numpy := sys.modules.get("numpy"):
            self.slots.append(
                _state(lambda: numpy.random.get_state(legacy=False), numpy.random.set_state, _is_same_state)
            )

    def _is_own_of_module(self, name: str) -> bool:
        return name not in self._base and not name.startswith(_OWN) and name != "forward"

    def _attributes(self, thing: Any, chosen: Callable[[str], bool], depth: int) -> None:
        attributes = vars(thing)
        self.slots.append(_entries(attributes, chosen))
        for name, value in list(attributes.items()):
            if chosen(name):
                self._look_at(value, depth - 1, f"{type(thing).__name__}.{name}")

    def _look_at(self, value: Any, depth: int, name: str) -> None:
        """What a value holds that can change while it stays the same object."""
        if depth <= 0 or id(value) in self._seen:
            return
        if isinstance(value, sys.modules["torch"].Tensor):
            self._seen.add(id(value))
            self.tensors.append((name, weakref.ref(value), of_torch.writes.of(value, 0)))
        elif isinstance(value, self._generator):
            self._seen.add(id(value))
            self.slots.append(_state(value.get_state, value.set_state, self._equal))
        elif type(value) is dict or isinstance(value, (list, set, collections.deque)):
            self._seen.add(id(value))
            if len(value) > _MOST:
                self.long_ones.append((name, value, len(value)))
            else:
                self.slots.append(_entries(value, lambda _: True) if isinstance(value, dict) else _contents(value))
                for item in list(value.values() if isinstance(value, dict) else value):
                    self._look_at(item, depth - 1, name)
        elif isinstance(value, (sys.modules["torch"].nn.Module, type, FunctionType, ModuleType)):
            return
        elif type(value).__module__.startswith("numpy.random") and hasattr(value, "bit_generator"):
            self._seen.add(id(value))
            bits = value.bit_generator
            self.slots.append(_state(lambda: bits.state, lambda s: setattr(bits, "state", s), _is_same_state))
        elif frames.is_script_object(value):
            self._seen.add(id(value))
            self._attributes(value, lambda _: True, depth)

    def _code_of(self, kind: type) -> None:
        """Globals that the methods of a class of the script's name, and variables around them."""
        methods = [inspect.unwrap(method) for method in vars(kind).values() if callable(method)]
        for method in methods:
            code = getattr(method, "__code__", None)
            if code is None:
                continue
            named, known = set(_names_in(code)), method.__globals__
            variables = {n for n in named & known.keys() if not isinstance(known[n], (type, FunctionType, ModuleType))}
            if variables:
                self.slots.append(_entries(known, variables.__contains__))
            for name in variables:
                self._look_at(known[name], _DEPTH, name)
            for cell in method.__closure__ or ():
                try:
                    value = cell.cell_contents
                except ValueError:  # empty
                    continue
                self.slots.append(_cell(cell))
                self._look_at(value, _DEPTH, method.__name__)


def _is_same_state(first: Any, second: Any) -> bool:
    """Compares states of numpy's generators: dictionaries of numbers, names and arrays."""
    if isinstance(first, dict):
        return all(_is_same_state(value, second[key]) for key, value in first.items())
    return bool(first.tobytes() == second.tobytes() if hasattr(first, "tobytes") else first == second)


def is_small(buffer: Any) -> bool:
    return bool(buffer.numel() * buffer.element_size() <= _SMALL_BUFFER)


class _WrittenBuffers:
    """The buffers that forwards were seen to write to: after a first look the others are not copied any more."""

    KEEPS = process.ALL

    def __init__(self) -> None:
        self._of_parts: weakref.WeakKeyDictionary[Any, dict[str, bool]] = weakref.WeakKeyDictionary()
        self._uncounted: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()
        self.watched: weakref.WeakSet[Any] = weakref.WeakSet()

    def is_uncounted(self, part: Any, name: str, is_seen: bool) -> bool:
        """Whether it is written to in a way that no counter tells; `is_seen`: it was just now."""
        if is_seen:
            self._uncounted.setdefault(part, set()).add(name)
        return is_seen or name in self._uncounted.get(part, ())

    def may_be(self, part: Any, name: str, buffer: Any) -> bool:
        return is_small(buffer) and self._of_parts.get(part, {}).get(name, True)

    def learn(self, part: Any, name: str, is_written: bool) -> None:
        known = self._of_parts.setdefault(part, {})
        known[name] = known.get(name, False) or is_written


_written = process.own(_WrittenBuffers)


def _address(tensor: Any) -> int:
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (AttributeError, RuntimeError, NotImplementedError):  # of a kind without memory of its own
        return 0


def _watch_of_writes(addresses: set[int]) -> Any:
    """A context in which the memory that operators write to in place is noted."""
    from vramfit.values.memory import written_by
    from vramfit.values.operator_facts import facts_of

    class Watch(of_torch.dispatch_mode.get()):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            addresses.update(map(_address, written_by(facts_of(func), args, kwargs or {})))
            return func(*args, **(kwargs or {}))

    return Watch()


class ForwardState:
    """Made before a module's first run, settled after it."""

    def __init__(self, module: Any, without: list[Any]) -> None:
        """`without`: parts whose buffers somebody else takes care of."""
        walk = _Walk(module)
        self._slots, self._tensors, self._long_ones = walk.slots, walk.tensors, walk.long_ones
        left_out = {id(part) for part in without}
        self._buffers = [
            (part, name, weakref.ref(buffer), of_torch.writes.of(buffer, 0))
            for part in module.modules() if id(part) not in left_out
            for name, buffer in of_torch.buffers.of(part, {}).items() if buffer is not None
        ]  # fmt: skip
        self._copies = {
            (id(part), name): buffer.detach().clone()
            for part in module.modules() if id(part) not in left_out
            for name, buffer in of_torch.buffers.of(part, {}).items()
            if buffer is not None and _written.may_be(part, name, buffer)
        }  # fmt: skip
        self._restores: list[_Restore] = []
        self._module = weakref.ref(module)
        self._written_at: set[int] = set()

    def first_run(self) -> AbstractContextManager[Any]:
        """To be entered around it."""
        module = self._module()
        if module is None or module in _written.watched:
            return nullcontext()
        _written.watched.add(module)
        return _watch_of_writes(self._written_at)

    def settle(self) -> str:
        """Called after the first run: the name of what it wrote to in place and is not put back, or nothing."""
        self._restores = [restore for slot in self._slots if (restore := slot()) is not None]
        written = [name for name, tensor, writes in self._tensors if self._is_written(tensor(), writes)]
        written += [name for name, container, length in self._long_ones if len(container) != length]
        self._slots, self._tensors, self._long_ones = [], [], []
        if written:
            return written[0]
        for part, name, buffer, writes in self._buffers:
            now = of_torch.buffers.of(part, {}).get(name)
            is_written = now is not buffer() or self._is_written(now, writes)
            is_written = _written.is_uncounted(part, name, self._is_written_at(now)) or is_written
            copy = self._copies.get((id(part), name))
            _written.learn(part, name, is_written)
            if is_written and copy is None:
                return f"{type(part).__name__}.{name}"
            if is_written:
                self._restores.append(_buffer(part, name, copy))
        self._copies = {}
        self._buffers = []
        return ""

    def _is_written(self, tensor: Any, writes: int) -> bool:
        return of_torch.writes.of(tensor, writes) != writes or self._is_written_at(tensor)

    def _is_written_at(self, tensor: Any) -> bool:
        return bool(self._written_at) and tensor is not None and _address(tensor) in self._written_at - {0}

    @property
    def has_changed(self) -> bool:
        """Once settled: whether the first run left something beside its outputs, or drew from something."""
        return bool(self._restores)

    @contextmanager
    def as_before(self) -> Iterator[None]:
        """Around another run."""
        undone = [restore() for restore in self._restores]
        try:
            yield
        finally:
            for undo in reversed(undone):
                undo()
