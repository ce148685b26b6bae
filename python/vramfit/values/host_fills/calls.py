"""PyTorch's own operations as calls that C++ makes later, and the library that makes them (vramfit_host_*)."""

from __future__ import annotations

import ctypes
from types import MappingProxyType
from typing import Any

from vramfit.contract.functions import FUNCTIONS, HostSignature, bind
from vramfit.private import torch as of_torch

LARGE = (1 << 20) + 1  # bytes; copies to the card up to 1 MiB are really made, and read
RANDOM, UNARY, BINARY, COPY, ADD, CLAMP = map(int, HostSignature)
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


def load_library() -> Any:
    library = ctypes.PyDLL(None)
    try:
        for name in FUNCTIONS:
            if name.startswith("vramfit_host_"):
                bind(library, name)
    except AttributeError:
        return None
    return library


def find_functions() -> dict[str, int]:
    addresses = {name: of_torch.HOST_FILLS[name].address() for name in KINDS}
    return {name: address for name, address in addresses.items() if address}
