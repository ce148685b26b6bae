"""What is known of the values of a tensor: kept byte by byte in the virtual GPU (virtual_gpu/device/value_states.h)."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from vramfit.base import process
from vramfit.contract.functions import ValueState, bind, find_virtual_gpu
from vramfit.values.memory import over_same_bytes

# OPEN: a mask over unknown values, which may still be taken for full.
UNKNOWN, OPEN, ASSUMED, KNOWN = map(int, ValueState)

_MOST_PIECES = 4096  # of a tensor with gaps; above that its whole extent is meant


class _Functions:
    """The virtual GPU's side; found once."""

    def __init__(self) -> None:
        library = find_virtual_gpu()
        assert library is not None
        self.track = bind(library, "vramfit_gpu_track_values")
        self.small_reads = bind(library, "vramfit_gpu_small_reads")
        self.state = bind(library, "vramfit_gpu_value_state")
        self.set = bind(library, "vramfit_gpu_set_value_state")
        self.written = bind(library, "vramfit_gpu_values_written")


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.functions: _Functions | None = None


_state = process.own(_State)


def begin() -> None:
    """Has the virtual GPU keep states from here on."""
    if _state.functions is None:
        _state.functions = _Functions()
    _state.functions.track()


def small_reads() -> int:
    """How often the host has read a few bytes of the card."""
    return int(_state.functions.small_reads())


def state_of(tensor: Tensor) -> int:
    """The least that is known of any element. Host memory is known."""
    if not tensor.is_cuda:
        return KNOWN
    taken = tensor.numel() * tensor.element_size()
    if taken == 0:
        return KNOWN
    state = _state.functions.state
    if tensor.is_contiguous():
        return state(tensor.data_ptr(), taken)
    address, size = _extent(tensor)
    least = state(address, size)
    if least == UNKNOWN and size > taken:
        return min(state(begin, length) for begin, length in _pieces(tensor))
    return least


def set_state(tensor: Tensor, state: int) -> None:
    """Contents stay as they are, or are forgotten with UNKNOWN."""
    for address, size in _pieces(tensor):
        _state.functions.set(address, size, state)


def put(tensor: Tensor, value: Tensor, state: int) -> None:
    """Writes a host tensor's values into `tensor` and says what is known of them."""
    seen = over_same_bytes(tensor) if tensor.is_cuda else tensor
    if seen.data_ptr() != value.data_ptr():
        seen.copy_(value)
    mark_written(tensor, state)


def mark_written(tensor: Tensor, state: int) -> None:
    """The bytes of `tensor` were written from the host."""
    if tensor.is_cuda:
        for address, size in _pieces(tensor):
            _state.functions.written(address, size, state)


def host(tensor: Tensor) -> Tensor:
    """The tensor's bytes as a host tensor."""
    return over_same_bytes(tensor) if tensor.is_cuda else tensor


def _extent(tensor: Tensor) -> tuple[int, int]:
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return tensor.data_ptr(), (last + 1) * tensor.element_size()


def _pieces(tensor: Tensor) -> Iterator[tuple[int, int]]:
    """(address, bytes) of the stretches without gaps that the tensor's elements lie in."""
    numel, itemsize = tensor.numel(), tensor.element_size()
    if numel == 0:
        return
    if tensor.is_contiguous():
        yield tensor.data_ptr(), numel * itemsize
        return
    address, size = _extent(tensor)
    dims = sorted((stride, length) for length, stride in zip(tensor.shape, tensor.stride()) if length > 1 and stride)
    run = 1
    while dims and dims[0][0] <= run:
        stride, length = dims.pop(0)
        run += (length - 1) * stride
    count = 1
    for _, length in dims:
        count *= length
    if size <= numel * itemsize or count > _MOST_PIECES:
        yield address, size
        return
    starts = [0]
    for stride, length in dims:
        starts = [start + index * stride for start in starts for index in range(length)]
    for start in starts:
        yield address + start * itemsize, run * itemsize
