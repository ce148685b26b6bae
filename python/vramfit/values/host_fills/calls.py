"""PyTorch's own operations as calls that C++ makes later, and the library that makes them (vramfit_host_*)."""

from __future__ import annotations

import ctypes
import os
from typing import Any

LARGE = (1 << 20) + 1  # bytes; copies to the card up to 1 MiB are really made, and read
RANDOM, UNARY, BINARY, COPY, ADD, CLAMP = range(1, 7)
_TENSOR, _CONST = "RNS_6TensorE", "RKS2_"
# at::_ops::<name>::call in libtorch_cpu.so: the mangled names carry the types of the arguments.
SYMBOLS = {
    "normal_": (RANDOM, "_ZN2at4_ops7normal_4callERNS_6TensorEddSt8optionalINS_9GeneratorEE"),
    "uniform_": (RANDOM, "_ZN2at4_ops8uniform_4callERNS_6TensorEddSt8optionalINS_9GeneratorEE"),
    "zero_": (UNARY, "_ZN2at4_ops5zero_4callERNS_6TensorE"),
    "erfinv_": (UNARY, "_ZN2at4_ops7erfinv_4callERNS_6TensorE"),
    "fill_": (BINARY, "_ZN2at4_ops12fill__Tensor4callERNS_6TensorERKS2_"),
    "mul_": (BINARY, "_ZN2at4_ops11mul__Tensor4callERNS_6TensorERKS2_"),
    "add_": (ADD, "_ZN2at4_ops11add__Tensor4callERNS_6TensorERKS2_RKN3c106ScalarE"),
    "clamp_": (CLAMP, "_ZN2at4_ops6clamp_4callERNS_6TensorERKSt8optionalIN3c106ScalarEES9_"),
    "copy_": (COPY, "_ZN2at4_ops5copy_4callERNS_6TensorERKS2_b"),
}


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


def find_functions(torch: Any) -> dict[str, int]:
    path = os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")
    library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    found = {}
    for name, (_, symbol) in SYMBOLS.items():
        address = ctypes.cast(getattr(library, symbol, None), ctypes.c_void_p).value if _has(library, symbol) else None
        if address:
            found[name] = address
    return found


def _has(library: Any, symbol: str) -> bool:
    try:
        getattr(library, symbol)
    except AttributeError:
        return False
    return True
