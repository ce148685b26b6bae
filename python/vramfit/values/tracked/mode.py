"""The dispatch mode of `VRAMFIT_VALUES=tracked`: it keeps which values are known, and computes what follows from them.

Every tensor of the card is KNOWN (as on a real card), ASSUMED (computed exactly, from values that were chosen) or
UNKNOWN, byte by byte. An operator whose inputs all have values, and which is small, is computed on the host over the
same bytes; the others leave floating-point outputs UNKNOWN. Where whole numbers or booleans are made of unknown values
(a comparison, argmax, top-k, a cast), the unknown values are chosen first (witness.py) and the operator is computed:
so everything that a program reads is one possible run, counts add up and indices are in range.

A mask that was made of unknown values is OPEN. Used as a value it is what it was computed to be; where it sizes
something (`x[mask]`, `nonzero`, a count) it is full first, which is the most that it can select.
"""

from __future__ import annotations

from typing import Any

import torch

from vramfit.base import composite
from vramfit.base.recorder import SAVE
from vramfit.observe import phases
from vramfit.private import operators as of_operators
from vramfit.private import torch as of_torch
from vramfit.private.names import need, nothing
from vramfit.private.operators import names_of
from vramfit.values import steering
from vramfit.values.mode import Twice, entry_of
from vramfit.values.tracked import lines, redrawing, sized, witness
from vramfit.values.tracked.operators import Kind, Operator, operator_of
from vramfit.values.tracked.states import ASSUMED, KNOWN, OPEN, UNKNOWN, host, put, set_state, state_of

need(of_torch.overload, of_torch.schema, of_torch.overload_name, of_torch.dispatch_mode, of_torch.map_tree)


Tensor = torch.Tensor

# The largest tensors that are computed, in elements: anchors of a detector against its boxes are 2.4 million.
_MOST_ELEMENTS = 4 << 20
_MOST_CHOSEN = 1 << 20  # of unknown values that are given some
_MOST_SORTED = 1 << 18
_MOST_RANDOM = 1 << 20
_MOST_NORMAL = 1 << 16  # initial weights and noise: nobody's control flow
_MOST_PRODUCTS = 1 << 24  # multiplications of a matrix product
_MOST_READ = 1 << 16
_MOST_COUNTED = 1 << 10  # of an operator over lists of tensors: counts of steps, not weights
_MOST_GIVEN = 1 << 18  # floating-point values from the host: a mebibyte, as without tracking
_MOST_MASKED = 1 << 14  # a masked tensor of more than two dimensions that is given values: mostly attention scores
_LOWEST = -1e4  # and what is below it: scores of what attention must not look at
_COMPUTED_WHERE_SMALL = ("nll_loss", "linalg", of_operators.distance.word, "upsample", "roi_")  # words of names
_MASKED = names_of("masked_fill masked_fill_ where index_fill index_fill_ scatter scatter_")
# While a compiler traces, tensors are fake: they have no values, and its own mode, below ours, takes them. Its
# `ignore_compile_internals` does not cover all who trace (vLLM on torch 2.11).
_FAKE = getattr(of_torch.mode_keys.get(), "FAKE", None)
_get_mode = of_torch.running_mode.get() if _FAKE is not None else nothing
TorchDispatchMode, tree_map = of_torch.dispatch_mode.get(), of_torch.map_tree.get()
_Overload = of_torch.overload.get()
_NEVER_TRUE = ("aten::isnan", "aten::isinf", "aten::isposinf", "aten::isneginf", "aten::signbit")


class TrackedValues(TorchDispatchMode):
    """One for each thread. Compilers look through it: what they make are kernels, whose outputs are unknown."""

    supports_higher_order_operators = True

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __torch_dispatch__(self, overload: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not isinstance(overload, _Overload) or _get_mode(_FAKE) is not None:
            return overload(*args, **kwargs)
        if composite.is_composite(overload):
            return composite.take_apart(self, overload, args, kwargs)
        operator = operator_of(overload)
        if operator.kind is Kind.WITHOUT_VALUES:
            return overload(*args, **kwargs)
        for kind in types:
            if kind is not Tensor and kind is not torch.nn.Parameter:
                return NotImplemented  # a tensor subclass (DTensor, fake) first takes its operator apart
        tensors = _tensors_in(args, kwargs)
        if not any(tensor.is_cuda for tensor in tensors) and not _is_card(kwargs.get("device")):
            return overload(*args, **kwargs)
        call = _Call(operator, args, kwargs, tensors)
        if any(tensor.layout != torch.strided or tensor.is_quantized for tensor in tensors):
            return call.run_on_card()
        return _RULES[operator.kind](call)


class _Call:
    """One call of an operator that touches the card."""

    def __init__(self, operator: Operator, args: Any, kwargs: Any, tensors: list[Tensor]) -> None:
        self.operator, self.args, self.kwargs, self.tensors = operator, args, kwargs, tensors

    @property
    def read(self) -> list[Tensor]:
        if self.operator.reads_what_it_writes:
            return [] if self.operator.kind is Kind.FROM_SHAPES else self.tensors
        written = {id(tensor) for tensor in self.operator.written(self.args, self.kwargs)}
        return [tensor for tensor in self.tensors if id(tensor) not in written]

    def least_known(self) -> int:
        least = KNOWN
        for tensor in self.read:
            if tensor.is_cuda:
                least = min(least, state_of(tensor))
                if least == UNKNOWN:
                    break
        return least

    def is_small(self, most: int = _MOST_ELEMENTS) -> bool:
        return all(tensor.numel() <= most for tensor in self.tensors)

    def entry(self, number: int, of: int) -> _Call:
        """The same over lists of one: of each list the entry `number`."""
        args, kwargs = entry_of(self.operator.overload, self.args, self.kwargs, number, of)
        return _Call(self.operator, args, kwargs, _tensors_in(args, kwargs))

    def run_on_card(self) -> Any:
        """For its memory; nothing is known of what it writes then, unless that was a copy."""
        return self.leave_unknown(self.on_card())

    def on_card(self) -> Any:
        """An operator may check values within itself, where kernels did nothing: what the host makes of them counts."""
        try:
            return self.operator.overload(*self.args, **self.kwargs)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:
            if not self.is_small(_MOST_CHOSEN) or not self.choose_unknown(_MOST_CHOSEN):
                raise
            twice = Twice(self.operator.overload, self.operator.name, self.args, self.kwargs, _putting(ASSUMED))
            if self.operator.writes or (values := twice.try_on_host()) is None:
                raise
            return tree_map(lambda value: sized.on_card(value, self.device, ASSUMED), values)

    @property
    def device(self) -> torch.device:
        return next(tensor.device for tensor in self.tensors if tensor.is_cuda)

    def leave_unknown(self, result: Any) -> Any:
        for tensor in self.operator.written(self.args, self.kwargs):
            if tensor.is_cuda and tensor.layout == torch.strided:
                set_state(tensor, UNKNOWN)
        return result

    def compute(self, state: int) -> Any:
        """On the card for its memory and on the host for its values, which are then known as `state`."""
        twice = Twice(self.operator.overload, self.operator.name, self.args, self.kwargs, _putting(state))
        result = self.on_card()
        if max((output.numel() for output in _tensors_in((result,), {})), default=0) > _MOST_ELEMENTS:
            return self.leave_unknown(result)
        if (values := twice.try_on_host()) is None:
            return self.leave_unknown(result)
        return twice.bring_together(result, values)

    def choose_unknown(self, most: int) -> bool:
        """Gives values to what is unknown among what it reads; False where that is too large."""
        unknown = [tensor for tensor in self.read if tensor.is_cuda and state_of(tensor) == UNKNOWN]
        if any(tensor.numel() > most for tensor in unknown):
            return False
        for tensor in unknown:
            witness.give_values(tensor)
        return True


def _plain(call: _Call) -> Any:
    state = call.least_known()
    if state == UNKNOWN:
        return _unknown(call)
    if not call.is_small() or (call.operator.multiplies and _products(call.tensors) > _MOST_PRODUCTS):
        return call.run_on_card()
    if call.operator.is_random and not call.is_small(_MOST_RANDOM) or _is_added_to_scores(call):
        return call.run_on_card()
    return call.compute(ASSUMED if state == OPEN else state)


def _is_added_to_scores(call: _Call) -> bool:
    """A large mask of 0 and -inf, which PyTorch's attention makes anew in every layer: its scores are unknown."""
    if call.operator.name != "aten::where" or len(call.args) != 3 or call.args[0].numel() <= _MOST_GIVEN:
        return False
    chosen = call.args[1:]
    if not all(isinstance(one, Tensor) and one.numel() == 1 and one.is_floating_point() for one in chosen):
        return False
    low, high = sorted((host(one) if one.is_cuda else one).item() for one in chosen)
    return bool(low <= _LOWEST and high == 0)


def _unknown(call: _Call) -> Any:
    """Floating-point outputs stay unknown; whole numbers and booleans are computed from chosen values."""
    name, args = call.operator.name, call.args
    if name in _MASKED and call.is_small(_MOST_MASKED if call.tensors[0].dim() > 2 else _MOST_CHOSEN):
        others = [tensor for tensor in call.tensors if not tensor.is_floating_point()]
        if all(state_of(tensor) >= ASSUMED for tensor in others) and call.choose_unknown(_MOST_CHOSEN):
            return call.compute(ASSUMED)  # a constraint: what is ruled out here must not be chosen later
    written = call.operator.written(args, call.kwargs)
    if written:
        if any(_is_discrete(tensor) for tensor in written) and call.choose_unknown(_MOST_CHOSEN):
            return call.compute(ASSUMED)
        return call.run_on_card()
    result = call.on_card()
    outputs = [tensor for tensor in _tensors_in((result,), {}) if tensor.is_cuda and _is_discrete(tensor)]
    if not outputs:
        return result
    if name in _NEVER_TRUE:
        for output in outputs:
            set_state(output, ASSUMED)
    elif all(output.numel() <= _MOST_CHOSEN for output in outputs) and call.choose_unknown(_MOST_CHOSEN):
        twice = Twice(call.operator.overload, name, args, call.kwargs, _putting(ASSUMED))
        if (values := twice.try_on_host()) is not None:
            return twice.bring_together(result, values)
    return result


def _compares(call: _Call) -> Any:
    state = call.least_known()
    if state >= ASSUMED:
        chosen = any(tensor.is_floating_point() and state_of(tensor) < KNOWN for tensor in call.tensors)
        return call.compute(OPEN) if chosen and call.is_small() else _plain(call)
    first, other = call.args[0], call.args[1]
    if call.is_small(_MOST_CHOSEN) and call.choose_unknown(_MOST_CHOSEN):
        return call.compute(OPEN)
    result = call.run_on_card()
    same = isinstance(other, Tensor) and other is first
    if (same and call.operator.name in ("aten::ne", "aten::lt", "aten::gt")) or _is_outside(call.operator.name, other):
        set_state(result, ASSUMED)  # never true
    return result


def _is_outside(name: str, bound: Any) -> bool:
    """Whether the comparison with a number is false of everything in (0, 1)."""
    if isinstance(bound, Tensor):
        return False
    return (name in ("aten::lt", "aten::le") and bound <= 0) or (name in ("aten::gt", "aten::ge") and bound >= 1)


def _arranges(call: _Call) -> Any:
    """Masks out of masks, among others: open as those it was made of."""
    state = call.least_known()
    masks = all(tensor.dtype == torch.bool for tensor in call.tensors)
    if state == OPEN and masks and call.is_small():
        return call.compute(OPEN)
    return _plain(call)


def _counts(call: _Call) -> Any:
    source = call.args[0]
    if source.dtype != torch.bool or source.numel() == 0:
        return _plain(call)
    name, state = call.operator.name, state_of(source)
    if name == "aten::any":
        return _any(call, state)
    if name == "aten::all":
        return _fill_all(call, 1) if state in (OPEN, UNKNOWN) else _plain(call)
    if state == UNKNOWN and not call.is_small():
        return _fill_all(call, None)
    sized.take_for_full(source)
    return _plain(call)


def _any(call: _Call, state: int) -> Any:
    result = _plain(call) if state != UNKNOWN or call.is_small() else _fill_all(call, 1)
    if result.numel() == 1 and state in (OPEN, UNKNOWN) and host(result).item() and redrawing.is_over():
        put(result, torch.tensor(False), ASSUMED)
    return result


def _fill_all(call: _Call, value: int | None) -> Any:
    """Everything of the output: `value`, or as many as were added up."""
    result = call.run_on_card()
    if result.numel() <= _MOST_CHOSEN and result.numel() > 0:
        count = call.args[0].numel() // result.numel() if value is None else value
        put(result, torch.tensor(count, dtype=result.dtype), ASSUMED)
    return result


def _from_shapes(call: _Call) -> Any:
    """Also factories: what they make is known."""
    if call.operator.name in ("aten::zeros_like", "aten::new_zeros", "aten::zero_"):
        return _zeros(call)
    if call.operator.is_random and not _is_drawn(call, call.tensors[0].numel(), call.tensors[0].dtype):
        return call.run_on_card()
    return call.compute(KNOWN) if call.is_small() else call.run_on_card()


def _factory(call: _Call) -> Any:
    if call.operator.name == "aten::zeros":
        return _zeros(call)
    result = call.operator.overload(*call.args, **call.kwargs)
    size = max((output.numel() for output in _tensors_in((result,), {})), default=0)
    if size > _MOST_ELEMENTS:
        return result
    if call.operator.is_random and not _is_drawn(call, size, result.dtype):
        return result
    twice = Twice(call.operator.overload, call.operator.name, call.args, call.kwargs, _putting(KNOWN))
    values = twice.try_on_host()
    return result if values is None else twice.bring_together(result, values)


def _zeros(call: _Call) -> Any:
    """Memory that nobody wrote reads as zeros: known at no cost, at any size."""
    result = call.run_on_card()
    if result.is_cuda and result.layout == torch.strided:
        set_state(result, UNKNOWN)
        set_state(result, KNOWN)
    return result


def _is_drawn(call: _Call, size: int, dtype: torch.dtype) -> bool:
    """Random numbers that may steer: whole ones, and uniform ones that are few."""
    if torch.cuda.is_current_stream_capturing():
        return False
    name = call.operator.name
    is_normal = "normal" in name or "randn" in name
    return size <= (_MOST_NORMAL if is_normal and dtype.is_floating_point else _MOST_RANDOM)


def _heavy(call: _Call) -> Any:
    if of_operators.find_overflows.begins(call.operator.name):
        return call.on_card()  # found_inf stays 0, and gradients are known as they were
    small = any(word in call.operator.name for word in _COMPUTED_WHERE_SMALL)
    if small and call.is_small(_MOST_READ) and call.least_known() >= ASSUMED:
        return _plain(call)
    return call.run_on_card()


def _each(call: _Call) -> Any:
    """What an optimizer does to all of its tensors at once. Small ones are computed each by itself: an Adam whose
    state is on the card reads its count of steps in every step."""
    lists = [value for value in (*call.args, *call.kwargs.values()) if isinstance(value, (list, tuple))]
    small = [i for i, tensor in enumerate(lists[0]) if isinstance(tensor, Tensor) and tensor.numel() <= _MOST_COUNTED]
    computed = []
    for number in small:
        entry = call.entry(number, len(lists[0]))
        state = entry.least_known()
        if state == UNKNOWN or not entry.is_small(_MOST_COUNTED):
            continue
        put_as = _putting(ASSUMED if state == OPEN else state)
        twice = Twice(entry.operator.overload, entry.operator.name, entry.args, entry.kwargs, put_as)
        values = twice.try_on_host()
        if twice.ran:
            computed.append((number, twice, values))
    result = call.run_on_card()
    for number, twice, values in computed:
        twice.bring_together(None if result is None else [result[number]], values)
    return result


def _copy(call: _Call) -> Any:
    if call.operator.name == of_operators.copy.full_name:
        return _to_copy(call)
    target, source = call.args[0], call.args[1]
    if source.is_cuda and not target.is_cuda:
        _make_copy_readable(source)
        call.operator.overload(*call.args, **call.kwargs)
        _read_into(target, source)
        return target
    if source.is_cuda and _is_discrete(target) and state_of(source) == UNKNOWN and source.numel() <= _MOST_CHOSEN:
        witness.give_values(source)
    state = state_of(source) if source.is_cuda or _is_taken(source) else UNKNOWN
    call.operator.overload(*call.args, **call.kwargs)
    if state != UNKNOWN and source.numel() <= _MOST_ELEMENTS and target.numel() <= _MOST_ELEMENTS:
        put(target, host(source), state)
    elif state_of(target) != state:
        set_state(target, UNKNOWN)
    return target


def _is_taken(source: Tensor) -> bool:
    """Whether what the host gives is kept: small, or no batch and no weight."""
    return source.numel() <= (_MOST_ELEMENTS if _is_discrete(source) else _MOST_GIVEN)


def _to_copy(call: _Call) -> Any:
    source = call.args[0]
    goes_to_card = _is_card(call.kwargs.get("device")) or (call.kwargs.get("device") is None and source.is_cuda)
    if not goes_to_card:
        _make_copy_readable(source)
        result = call.operator.overload(*call.args, **call.kwargs)
        _read_into(result, source)
        return result
    wanted = call.kwargs.get("dtype") or source.dtype
    if not source.is_cuda:
        result = call.operator.overload(*call.args, **call.kwargs)
        if _is_taken(source) and state_of(result) == UNKNOWN:
            put(result, source, KNOWN)
        return result
    if source.dtype == torch.bool and wanted != torch.bool and source.numel() <= _MOST_CHOSEN:
        sized.take_for_full(source)
    return _plain(call)


def _make_copy_readable(source: Tensor) -> None:
    """What is saved steers nothing: it is copied as it is (whole storages, as bytes), and training goes on with it."""
    if phases.position.phase != SAVE:
        make_readable(source)


def make_readable(source: Tensor) -> None:
    """Before the host reads: unknown values are chosen, and what was chosen is said where it may decide something."""
    state = state_of(source)
    if state == UNKNOWN and 0 < source.numel() <= _MOST_READ:
        witness.give_values(source)
        state = OPEN
    if state < KNOWN and _is_discrete(source):
        lines.say(f"{_what_is_read(source)} that the host reads")
    elif state < KNOWN and source.numel() == 1 and (decided := steering.decided_by(lines.asking_frame())):
        lines.say(decided)


def _what_is_read(source: Tensor) -> str:
    if source.numel() == 1:
        return "a branch" if source.dtype == torch.bool else "a whole number"
    return "truth values" if source.dtype == torch.bool else "whole numbers"


def _read_into(target: Tensor, source: Tensor) -> None:
    """The card's own kernels would have gathered or cast it."""
    if source.numel() and state_of(source) != UNKNOWN:
        target.copy_(host(source))


def _read(call: _Call) -> Any:
    result = call.operator.overload(*call.args, **call.kwargs)
    if call.operator.name == "aten::equal":
        if call.least_known() == UNKNOWN:
            lines.say("a branch (equal), taken for true")
            return True
        if call.least_known() < KNOWN:
            lines.say("a branch (equal)")
        return torch.equal(host(call.args[0]), host(call.args[1])) if call.is_small() else True
    make_readable(call.args[0])
    return host(call.args[0]).item() if state_of(call.args[0]) != UNKNOWN else result


def _chooses(call: _Call) -> Any:
    if len(call.args) and call.operator.name == "aten::multinomial":
        return sized.draw(call.args, call.kwargs, call.operator.overload, _MOST_CHOSEN)
    state = call.least_known()
    most = _MOST_SORTED if call.operator.name == "aten::sort" else _MOST_CHOSEN
    if state == UNKNOWN and call.is_small(most):
        return call.compute(ASSUMED) if call.choose_unknown(most) else call.run_on_card()
    if state != UNKNOWN and call.is_small(4 * most):
        return _plain(call)
    return sized.choose_places(call.operator.name, call.run_on_card(), _entries(call))


def _entries(call: _Call) -> int:
    """Among how many it chooses."""
    source = call.args[0]
    for position, argument in enumerate(of_torch.schema.of(call.operator.overload).arguments):
        if argument.name == "dim":
            given = call.args[position] if position < len(call.args) else call.kwargs.get("dim", argument.default_value)
            return max(1, source.numel() if given is None or not source.dim() else source.size(given))
    return max(1, source.numel())


def _sized(call: _Call) -> Any:
    if call.operator.name == "aten::repeat_interleave" and call.kwargs.get("output_size") is not None:
        return _plain(call)
    return sized.run(call.operator, call.args, call.kwargs, call.choose_unknown)


def _indexed(call: _Call) -> Any:
    """Boolean masks become positions, as the card does inside its own `index`."""
    name, args = call.operator.name, call.args
    if not any(sized.is_mask(index) for index in args[1]) or sized.is_fill(name, args):
        return _plain(call)
    if "index_put" in name:
        sized.fit_to_values(args[0], args[1], args[2])
    indices = sized.as_positions(args[1])
    wide = (args[0], indices, *args[2:])
    again = _Call(call.operator, wide, call.kwargs, _tensors_in(wide, call.kwargs))
    return _plain(again)


_RULES = {
    Kind.PLAIN: lambda call: _plain(call) if call.tensors else _factory(call),
    Kind.FROM_SHAPES: _from_shapes,
    Kind.COPY: _copy,
    Kind.READ: _read,
    Kind.SIZED: _sized,
    Kind.INDEXED: _indexed,
    Kind.COUNTS: _counts,
    Kind.COMPARES: _compares,
    Kind.ARRANGES: _arranges,
    Kind.CHOOSES: _chooses,
    Kind.EACH: _each,
    Kind.HEAVY: _heavy,
}


def _putting(state: int) -> Any:
    def write(target: Tensor, value: Tensor) -> None:
        if target.is_cuda:
            put(target, value, state if target.dtype == torch.bool or state != OPEN else ASSUMED)
        elif target.data_ptr() != value.data_ptr():
            target.copy_(value)

    return write


def _tensors_in(args: Any, kwargs: Any) -> list[Tensor]:
    found: list[Tensor] = []
    for value in (*args, *kwargs.values()):
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found.extend(one for one in value if isinstance(one, Tensor))
    return found


def _is_card(device: Any) -> bool:
    return device is not None and torch.device(device).type == "cuda"


def _is_discrete(tensor: Tensor) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex())


def _products(tensors: list[Tensor]) -> int:
    """Multiplications of a matrix product, at most."""
    first, second = tensors[-2], tensors[-1]
    return first.numel() * (second.size(-1) if second.dim() > 1 else 1)
