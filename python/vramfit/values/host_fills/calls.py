"""PyTorch's own operations as calls that C++ makes later, and the library that makes them (vramfit_host_*)."""

from __future__ import annotations

import ctypes
from types import MappingProxyType
from typing import Any

from vramfit.private import torch as of_torch

LARGE = (1 << 20) + 1  # bytes; copies to the card up to 1 MiB are really made, and read
RANDOM, UNARY, BINARY, COPY, ADD, CLAMP = range(1, 7)
KINDS = MappingProxyType(
    {
        "normal_": RANDOM,
        "uniform_": RANDOM,
        "zero_": UNARY,
        "erfinv_": UNARY,
        "fill_": BINARY,
        "mul_": BINARY,
        "add_": ADD,
        "clamp_": CLAMP,
        "copy_": COPY,
    }
)


class Call(ctypes.Structure):
    """vf_host_call."""

    _fields_ = [
        ("signature", ctypes.c_uint64),
        ("function", ctypes.c_void_p),
        ("self", ctypes.c_void_p),
        ("other", ctypes.c_void_p),
        ("generator", ctypes.c_void_p),
        ("first", ctypes.c_double),
        ("second", ctypes.c_double),
    ]


def load_library() -> Any:
    library = ctypes.PyDLL(None)
    try:
        library.vramfit_host_enable.restype = None
    except AttributeError:
        return None
    unsigned, pointer = ctypes.c_uint64, ctypes.c_void_p
    for name, arguments in (
        ("allocation", (unsigned,)),
        ("reserve", (unsigned,)),
        ("defer", (unsigned, unsigned, ctypes.POINTER(Call), unsigned)),
        ("over", (ctypes.POINTER(unsigned), unsigned)),
        ("deferred_bytes", ()),
        ("filled_bytes", ()),
    ):
        function = getattr(library, f"vramfit_host_{name}")
        function.restype, function.argtypes = unsigned, arguments
    library.vramfit_host_append.argtypes = (unsigned, ctypes.POINTER(Call))
    library.vramfit_host_release.argtypes = (unsigned, unsigned)
    library.vramfit_host_skip.argtypes = (pointer, unsigned)
    return library


def find_functions() -> dict[str, int]:
    addresses = {name: of_torch.HOST_FILLS[name].address() for name in KINDS}
    return {name: address for name, address in addresses.items() if address}
