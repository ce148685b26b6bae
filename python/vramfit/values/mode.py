"""The dispatch mode that runs each operator twice: on the card for its memory, on the CPU for its values."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from vramfit.base import composite, notes, process
from vramfit.contract import notes as said
from vramfit.private import operators as of_operators
from vramfit.private import torch as of_torch
from vramfit.private.names import need
from vramfit.private.operators import full_names, names_of
from vramfit.values import checks, randomness, sparse_rows
from vramfit.values.kernels import KERNELS
from vramfit.values.leaves import flatten, unflatten
from vramfit.values.memory import is_plain, over_same_bytes, written_by
from vramfit.values.operator_facts import OperatorFacts, facts_of

need(of_torch.overload, *of_torch.SCHEMA, of_torch.dispatch_mode)
need(of_torch.map_tree)


Operator = of_torch.overload.get()
TorchDispatchMode = of_torch.dispatch_mode.get()
tree_map = of_torch.map_tree.get()

# Operators that only make, name or resize memory: no value to compute.
_NO_VALUES = names_of("""
    empty empty_like empty_strided empty_permuted new_empty new_empty_strided set_ resize_ resize_as_ detach lift_fresh
    record_stream is_pinned pin_memory is_coalesced sparse_dim dense_dim
""") | full_names(of_operators.WITHOUT_VALUES, of_operators.READS, of_operators.OF_SPARSE)
# Operators whose result's size is in the data: the card's own answer has a size made from zeros.
_SIZED_BY_DATA = (
    names_of("""
    nonzero nonzero_static masked_select unique_dim unique_consecutive unique_dim_consecutive repeat_interleave bincount
""")
    | full_names(of_operators.SIZED)
    | {"torchvision::nms"}
)
_INDEXED = names_of("index index_put index_put_") | full_names(of_operators.INDEXED)


class CpuValues(TorchDispatchMode):
    """Keeps the card's bytes as a real card would have them.

    `tells_device`: values reach the card by copies from the host, as under `--values zeros` only bytes that a copy
    brought are kept (virtual_gpu/device/contents.h).
    """

    def __init__(self, tells_device: bool = False) -> None:
        super().__init__()
        self.tells_device = tells_device

    def __torch_dispatch__(self, operator: Operator, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if types and any(kind not in (Tensor, torch.nn.Parameter) for kind in types):
            return NotImplemented  # a tensor subclass (DTensor, fake) first takes its operator apart
        facts = facts_of(operator)
        if facts.is_composite:
            return composite.take_apart(self, operator, args, kwargs)
        name = facts.name
        if facts.is_view or name in _NO_VALUES or not _is_on_card(leaves := flatten((args, kwargs))[0]):
            return operator(*args, **kwargs)
        if not all(is_plain(leaf) for leaf in leaves if isinstance(leaf, Tensor)):
            result = sparse_rows.run(facts, args, kwargs, self.put)
            if result is not NotImplemented:
                return result
            _say_inexact(name, "sparse or quantised tensors")
            return operator(*args, **kwargs)
        if name == "aten::copy_":
            return self.__copy(operator, args, kwargs)
        if name in _INDEXED and any(_is_mask(index) for index in args[1]) and not _is_fill(name, args):
            return self.__index_by_position(operator, args, kwargs)
        if _is_over_lists(name, args):
            return self.__run_by_entries(facts, args, kwargs)
        return Twice(facts, args, kwargs, self.put).run()

    def __run_by_entries(self, facts: OperatorFacts, args: Any, kwargs: Any) -> Any:
        """What an optimizer does to all of its tensors at once, on the CPU one after the other: each stays in the
        processor's caches, where all weights would be gigabytes of new memory in every operator. What is written in
        place comes before the card's own run, which may copy real bytes, but the same."""
        operator, is_in_place = facts.overload, not facts.returns
        entries = [entry_of(facts, args, kwargs, number, len(args[0])) for number in range(len(args[0]))]
        result = None if is_in_place else operator(*args, **kwargs)
        for number, (own, named) in enumerate(entries):
            twice = Twice(facts, own, named, self.put)
            values = twice.try_on_host()
            if not twice.ran:
                _say_inexact(facts.name, "the CPU has no such operator over lists")
                break
            twice.bring_together(None if is_in_place else [result[number]], values)
        return operator(*args, **kwargs) if is_in_place else result

    def __index_by_position(self, operator: Operator, args: Any, kwargs: Any) -> Any:
        """Boolean masks become positions, as the card does inside its own `index`, but with the true count."""
        indices: list[Tensor | None] = []
        for index in args[1]:
            if _is_mask(index):
                positions = self.__torch_dispatch__(torch.ops.aten.nonzero.default, (), (index,))
                indices.extend(positions.select(1, column) for column in range(index.dim()))
            else:
                indices.append(index)
        return self.__torch_dispatch__(operator, (), (args[0], indices, *args[2:]), kwargs)

    def __copy(self, operator: Operator, args: Any, kwargs: Any) -> Any:
        result = operator(*args, **kwargs)
        self.put(args[0], _host(args[1]))
        return result

    def put(self, target: Tensor, value: Tensor) -> None:
        """Writes a host tensor's values into a tensor of the card (or of the host)."""
        if self.tells_device and target.is_cuda and target.is_contiguous():
            target.copy_(value.to(target.dtype).expand(target.shape).contiguous())
            return
        seen = _host(target)
        if seen.data_ptr() != value.data_ptr():
            seen.copy_(value)


class Twice:
    """One operator: its CPU run over the same bytes, its run on the card, and the values brought together."""

    def __init__(self, facts: OperatorFacts, args: Any, kwargs: Any, put: Callable[[Tensor, Tensor], None]) -> None:
        self.facts, self.put, self.ran = facts, put, False
        self.operator, self.name = facts.overload, facts.name
        self.leaves, self.shape = flatten((args, kwargs))
        # A tensor that the operator writes is cloned for the CPU: on the card the operator may move real bytes there.
        self.written: dict[int, Tensor] = {id(t): _host(t).clone() for t in written_by(facts, args, kwargs)}

    def run(self) -> Any:
        args, kwargs = unflatten(self.leaves, self.shape)
        try:
            values = self._run_on_host()
        except Exception as error:
            _say_inexact(self.name, str(error).splitlines()[0] if str(error) else type(error).__name__)
            return self.operator(*args, **kwargs)
        if self.name in _SIZED_BY_DATA:
            device = next(leaf.device for leaf in self.leaves if isinstance(leaf, Tensor) and leaf.is_cuda)
            return tree_map(lambda value: value.to(device) if isinstance(value, Tensor) else value, values)
        return self.bring_together(checks.passed(lambda: self.operator(*args, **kwargs), self.name), values)

    def try_on_host(self) -> Any:
        """The values that the CPU computes; None where it can't. `ran` tells one that returns nothing from those."""
        try:
            values = self._run_on_host()
        except Exception:
            return None
        self.ran = True
        return values

    def bring_together(self, result: Any, values: Any) -> Any:
        """`result`, which the card gave, with the values that the CPU gave; so what the operator writes."""
        self._write_back()
        return self._join(result, values)

    def _run_on_host(self) -> Any:
        kernel = KERNELS.get(self.name, self.operator)
        generator = self._generator() if self.facts.is_random else None
        seed = None if generator is None else randomness.drawn_seed(generator)
        with randomness.seeded(seed) if seed is not None else contextlib.nullcontext():
            try:
                return self._call(kernel, self._on_host)
            except (RuntimeError, NotImplementedError):
                if not any(_is_half(leaf) for leaf in self.leaves):
                    raise
        with randomness.seeded(seed) if seed is not None else contextlib.nullcontext():
            return self._call(kernel, self._on_host_in_float)

    def _call(self, kernel: Any, convert: Any) -> Any:
        args, kwargs = unflatten([convert(leaf) for leaf in self.leaves], self.shape)
        kwargs.pop("pin_memory", None)
        return kernel(*args, **kwargs)

    def _on_host(self, leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            written = self.written.get(id(leaf))
            return _host(leaf) if written is None else written
        if isinstance(leaf, torch.device):
            return torch.device("cpu")
        return None if isinstance(leaf, torch.Generator) else leaf

    def _on_host_in_float(self, leaf: Any) -> Any:
        """Converts for operators that the CPU lacks in half precision."""
        if _is_half(leaf) and isinstance(leaf, Tensor) and id(leaf) in self.written:
            self.written[id(leaf)] = self.written[id(leaf)].float()
            return self.written[id(leaf)]
        value = self._on_host(leaf)
        if isinstance(leaf, torch.dtype) and _is_half(leaf):
            return torch.float32
        return value.float() if _is_half(value) else value

    def _generator(self) -> torch.Generator:
        for leaf in self.leaves:
            if isinstance(leaf, torch.Generator) and leaf.device.type == "cuda":
                return leaf
        device = next(_card_of(leaf) for leaf in self.leaves if _card_of(leaf) is not None)
        index = torch.cuda.current_device() if device.index is None else device.index
        torch.cuda.init()
        generators = of_torch.generators_of_cards.get()
        return generators[index] if generators else torch.default_generator

    def _write_back(self) -> None:
        for leaf in self.leaves:
            if isinstance(leaf, Tensor) and id(leaf) in self.written:
                self.put(leaf, self.written[id(leaf)])

    def _join(self, result: Any, values: Any) -> Any:
        """`result` with the values of `values`; outputs that are plain numbers are the CPU's."""
        outputs, shape = flatten(result)
        expected = flatten(values)[0]
        if len(outputs) != len(expected):
            _say_inexact(self.name, "another number of outputs on the CPU")
            return result
        inputs = {id(leaf) for leaf in self.leaves}
        joined = []
        for output, value in zip(outputs, expected):
            if isinstance(output, Tensor) and isinstance(value, Tensor) and id(output) not in inputs:
                self._fill(output, value)
            joined.append(value if isinstance(output, (bool, int, float)) and value is not None else output)
        return unflatten(joined, shape)

    def _fill(self, output: Tensor, value: Tensor) -> None:
        if sparse_rows.is_rows(output) and sparse_rows.is_rows(value):
            sparse_rows.write(output, value, self.put)
            return
        if output.numel() == 0 or not is_plain(output):
            return
        if output.shape != value.shape:
            _say_inexact(self.name, f"{tuple(output.shape)} on the card, {tuple(value.shape)} on the CPU")
            return
        self.put(output, value)


def _is_over_lists(name: str, args: Any) -> bool:
    is_list = bool(args) and isinstance(args[0], (list, tuple)) and len(args[0]) > 1
    is_each = of_operators.each.begins(name) or of_operators.fused.begins(name)
    return is_list and is_each and "copy" not in name


def entry_of(facts: OperatorFacts, args: Any, kwargs: Any, number: int, of: int) -> tuple[tuple[Any, ...], Any]:
    """The arguments of an operator over lists of `of` tensors for one of them. A tensor of `scalars` is a list too."""

    def one(name: str, value: Any) -> Any:
        is_list = isinstance(value, (list, tuple)) and len(value) == of
        return value[number : number + 1] if is_list or name == "scalars" and isinstance(value, Tensor) else value

    names = (argument.name for argument in facts.arguments)
    return tuple(one(name, value) for name, value in zip(names, args)), {n: one(n, v) for n, v in kwargs.items()}


def _host(tensor: Tensor) -> Tensor:
    return over_same_bytes(tensor) if tensor.is_cuda else tensor


def _card_of(leaf: Any) -> torch.device | None:
    device = leaf.device if isinstance(leaf, Tensor) else leaf
    return device if isinstance(device, torch.device) and device.type == "cuda" else None


def _is_on_card(leaves: list[Any]) -> bool:
    return any(_card_of(leaf) is not None for leaf in leaves)


def _is_half(leaf: Any) -> bool:
    kind = leaf.dtype if isinstance(leaf, Tensor) else leaf
    return kind in (torch.half, torch.bfloat16)


def _is_mask(index: Any) -> bool:
    return isinstance(index, Tensor) and index.dtype in (torch.bool, torch.uint8)


def _is_fill(name: str, args: Any) -> bool:
    """`x[mask] = number`: the card runs masked_fill, whose size does not depend on data."""
    if "index_put" not in name or (len(args) > 3 and args[3]):
        return False
    given = [index for index in args[1] if index is not None]
    return len(given) == 1 and _is_mask(given[0]) and args[2].numel() == 1


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.inexact: set[str] = set()  # operators


_state = process.own(_State)


def _say_inexact(name: str, why: str) -> None:
    """Says it once per operator: its results keep whatever bytes were there."""
    if name not in _state.inexact:
        _state.inexact.add(name)
        notes.note(said.Values(text=f"{name} was not run on the CPU, its values are not exact: {why}"))
