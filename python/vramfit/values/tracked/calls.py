"""One call of an operator that touches the card: on the card for its memory, on the host for its values."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from vramfit.private import torch as of_torch
from vramfit.private.names import need
from vramfit.values.memory import is_plain
from vramfit.values.mode import Twice, entry_of
from vramfit.values.tracked import sized, states, witness
from vramfit.values.tracked.operators import Kind, Operator
from vramfit.values.tracked.states import ASSUMED, KNOWN, OPEN, UNKNOWN, put, set_state, state_of

need(of_torch.map_tree, of_torch.key_set, of_torch.dispatch_key)


_tree_map = of_torch.map_tree.get()
_REFUSALS = (RuntimeError, ValueError, IndexError)  # as which PyTorch's checks come

# The largest tensors that are computed, in elements: anchors of a detector against its boxes are 2.4 million.
MOST_ELEMENTS = 4 << 20
MOST_CHOSEN = 1 << 20  # of unknown values that are given some
MOST_RANDOM = 1 << 20
MOST_READ = 1 << 16
MOST_GIVEN = 1 << 18  # floating-point values from the host: a mebibyte, as without tracking


class Call:
    """One call of an operator that touches the card."""

    __slots__ = ("args", "kwargs", "mode", "operator", "tensors")

    def __init__(self, mode: Any, operator: Operator, args: Any, kwargs: Any, tensors: list[Tensor]) -> None:
        self.mode, self.operator, self.args, self.kwargs, self.tensors = mode, operator, args, kwargs, tensors

    @property
    def read(self) -> list[Tensor]:
        if self.operator.reads_what_it_writes:
            return [] if self.operator.kind is Kind.FROM_SHAPES else self.tensors
        written = {id(tensor) for tensor in self.operator.written(self.args, self.kwargs)}
        return [tensor for tensor in self.tensors if id(tensor) not in written]

    def least_known(self) -> int:
        least = KNOWN
        for tensor in self.read:
            if (state := state_of(tensor)) < least:
                if state == UNKNOWN:
                    return state
                least = state
        return least

    def is_small(self, most: int = MOST_ELEMENTS) -> bool:
        return all(tensor.numel() <= most for tensor in self.tensors)

    def entry(self, number: int, of: int) -> Call:
        """The same over lists of one: of each list the entry `number`."""
        args, kwargs = entry_of(self.operator, self.args, self.kwargs, number, of)
        return Call(self.mode, self.operator, args, kwargs, tensors_in(args, kwargs))

    def run_on_card(self) -> Any:
        """Runs it for its memory; nothing is known of what it writes then, unless that was a copy."""
        return self.leave_unknown(self.on_card())

    def on_card(self) -> Any:
        """An operator may look at values within itself, where kernels did nothing: a check, or a size. Once it was seen
        to look, the operators that it is made of are followed in its place."""
        operator = self.operator
        if operator.looks_within and self._can_be_opened():
            return self._opened()
        reads = states.small_reads()
        try:
            result = operator.overload(*self.args, **self.kwargs)
        except torch.OutOfMemoryError:
            raise
        except _REFUSALS as error:
            if not self._can_be_opened():
                raise
            return self._opened_after(error)
        operator.looks_within = states.small_reads() != reads
        return result

    def _can_be_opened(self) -> bool:
        """Whether it is one of PyTorch's own, over plain tensors of the card: another's may do more than compute."""
        is_on_card = any(tensor.is_cuda for tensor in self.tensors)
        is_pytorchs = self.operator.name.startswith("aten::") and of_torch.redispatch.is_in(self.operator.overload)
        return is_pytorchs and is_on_card and all(map(is_plain, self.tensors))

    def _opened(self) -> Any:
        """Its kernel, with the operators that this calls followed."""
        keys = of_torch.key_set.get()(of_torch.dispatch_key.get())
        with self.mode.within:
            return of_torch.redispatch.of(self.operator.overload)(keys, *self.args, **self.kwargs)

    def _opened_after(self, error: Exception) -> Any:
        try:
            result = self._opened()
        except torch.OutOfMemoryError:
            raise
        except _REFUSALS as again:
            if str(again) == str(error):  # no matter of values
                raise error from None
            return self._made_of_host_values(error)
        self.operator.looks_within = True
        return result

    def _made_of_host_values(self, error: Exception) -> Any:
        if not self.is_small(MOST_CHOSEN) or not self.choose_unknown(MOST_CHOSEN):
            raise error from None
        twice = Twice(self.operator, self.args, self.kwargs, putting(ASSUMED))
        if self.operator.writes or (values := twice.try_on_host()) is None:
            raise error from None
        return _tree_map(lambda value: sized.on_card(value, self.device, ASSUMED), values)

    @property
    def device(self) -> torch.device:
        return next(tensor.device for tensor in self.tensors if tensor.is_cuda)

    def leave_unknown(self, result: Any) -> Any:
        for tensor in self.operator.written(self.args, self.kwargs):
            if tensor.is_cuda and tensor.layout == torch.strided:
                set_state(tensor, UNKNOWN)
        return result

    def compute(self, state: int) -> Any:
        """Runs it on the card for its memory and on the host for its values, which are then known as `state`."""
        twice = Twice(self.operator, self.args, self.kwargs, putting(state))
        result = self.on_card()
        if max((output.numel() for output in tensors_in((result,), {})), default=0) > MOST_ELEMENTS:
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


def putting(state: int) -> Any:
    def write(target: Tensor, value: Tensor) -> None:
        if target.is_cuda:
            put(target, value, state if target.dtype == torch.bool or state != OPEN else ASSUMED)
        elif target.data_ptr() != value.data_ptr():
            target.copy_(value)

    return write


def tensors_in(args: Any, kwargs: Any) -> list[Tensor]:
    found: list[Tensor] = []
    for value in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found.extend([one for one in value if isinstance(one, Tensor)])
    return found


def is_card(device: Any) -> bool:
    return device is not None and torch.device(device).type == "cuda"


def is_discrete(tensor: Tensor) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex())
