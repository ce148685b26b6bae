"""The C functions that hooks call by ctypes: the recorder's, the virtual GPU's and the private layer's.

`hook_functions.h` is made of this file, and whoever defines or calls one of them in C++ includes it: where a type
differs it does not compile.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Callable


class ValueState(IntEnum):
    """What is known of a value in device memory. Ordered: what an operator makes of several inputs is known no better
    than the least known of them."""

    UNKNOWN = 0  # a kernel wrote it, and its values were not computed
    OPEN = 1  # a mask made from unknown values: its bytes are possible ones, and it may still be taken for full
    ASSUMED = 2  # computed exactly, from values that were chosen
    KNOWN = 3  # as on a real card


class HostSignature(IntEnum):
    """How a function of PyTorch's that fills host memory is called."""

    RANDOM = 1  # Tensor& (Tensor&, double, double, optional<Generator>)
    UNARY = 2  # Tensor& (Tensor&)
    BINARY = 3  # Tensor& (Tensor&, const Tensor&)
    COPY = 4  # Tensor& (Tensor&, const Tensor&, bool)
    ADD = 5  # Tensor& (Tensor&, const Tensor&, const Scalar&), the scalar being 1
    CLAMP = 6  # Tensor& (Tensor&, const optional<Scalar>&, const optional<Scalar>&): first and second


class HostCall(ctypes.Structure):
    """One call of an operator of PyTorch's.

    `self` and `other` are TensorImpl*, `generator` a GeneratorImpl*, `function` the address of at::_ops::<name>::call;
    they must live until the program is over (vramfit_host_over).
    """

    _fields_ = [
        ("signature", ctypes.c_uint64),  # HostSignature
        ("function", ctypes.c_void_p),
        ("self", ctypes.c_void_p),
        ("other", ctypes.c_void_p),
        ("generator", ctypes.c_void_p),
        ("first", ctypes.c_double),
        ("second", ctypes.c_double),
    ]


# What ctypes calls a type, and what C does.
VOID = (None, "void")
INT = (ctypes.c_int, "int")
U32 = (ctypes.c_uint32, "uint32_t")
U64 = (ctypes.c_uint64, "uint64_t")
I64 = (ctypes.c_int64, "int64_t")
SIZE = (ctypes.c_size_t, "size_t")
DOUBLE = (ctypes.c_double, "double")
TEXT = (ctypes.c_char_p, "const char*")
TEXT_BUFFER = (ctypes.c_char_p, "char*")
READ = (ctypes.c_void_p, "const void*")
WRITTEN = (ctypes.c_void_p, "void*")
NUMBERS = (ctypes.POINTER(ctypes.c_uint64), "uint64_t*")
CALLS = (ctypes.POINTER(HostCall), "const vf_host_call*")

# The result, then the arguments. What each does is said where it is declared.
FUNCTIONS = MappingProxyType({
    # The recorder: include/vramfit/vramfit.h.
    "vramfit_api_version": (INT,),
    "vramfit_finds_lines": (INT,),
    "vramfit_inherit_line": (U32, U32),
    "vramfit_intern": (U32, TEXT),
    "vramfit_mark": (VOID, TEXT),
    "vramfit_memory": (I64, U32, U32),
    "vramfit_note": (VOID, TEXT),
    "vramfit_own_line": (U32,),
    "vramfit_recorded": (U64,),
    "vramfit_relabel": (VOID, U64, U32, U32),
    "vramfit_reset_peaks": (VOID,),
    "vramfit_set_phase": (VOID, U32),
    "vramfit_set_scope": (U32, U32),
    "vramfit_set_stage": (VOID, U32),
    "vramfit_step": (VOID, U64),
    "vramfit_tag": (VOID, U64, U32, U32),
    "vramfit_watch_lines": (INT, WRITTEN),
    "vramfit_watch_rise": (INT, WRITTEN, I64, I64, DOUBLE),
    # What is known of values: virtual_gpu/device/device.h.
    "vramfit_gpu_answer_truths": (VOID, U64),
    "vramfit_gpu_device_reads": (U64,),
    "vramfit_gpu_set_value_state": (VOID, WRITTEN, SIZE, U32),
    "vramfit_gpu_small_reads": (U64,),
    "vramfit_gpu_track_values": (VOID,),
    "vramfit_gpu_truth_reads": (U64,),
    "vramfit_gpu_unknown_reads": (U64,),
    "vramfit_gpu_value_state": (U32, READ, SIZE),
    "vramfit_gpu_values_written": (VOID, WRITTEN, SIZE, U32),
    # Fills on the host that wait: virtual_gpu/host/late_fill.h.
    "vramfit_host_allocation": (U64, U64),
    "vramfit_host_append": (INT, U64, CALLS),
    "vramfit_host_defer": (U64, U64, U64, CALLS, U64),
    "vramfit_host_deferred_bytes": (U64,),
    "vramfit_host_enable": (VOID, INT),
    "vramfit_host_filled_bytes": (U64,),
    "vramfit_host_over": (U64, NUMBERS, U64),
    "vramfit_host_release": (VOID, U64, U64),
    "vramfit_host_reserve": (U64, U64),
    "vramfit_host_skip": (VOID, WRITTEN, U64),
    # Modes that operators are not to see: virtual_gpu/preload/dispatch_modes.cc.
    "vramfit_own_dispatch_mode": (INT, READ, READ),
    # The private layer: src/isolate/interface.cc.
    "vramfit_enter_layer": (INT, TEXT, TEXT_BUFFER, SIZE),
})  # fmt: skip


def bind(library: ctypes.CDLL, name: str) -> Callable[..., Any]:
    """`name` of `library`, with its types. Raises KeyError where no such function is agreed on, AttributeError where
    this process has none."""
    result, *arguments = FUNCTIONS[name]
    found = getattr(library, name)
    found.restype, found.argtypes = result[0], [of_ctypes for of_ctypes, _ in arguments]
    return found


def find_virtual_gpu() -> ctypes.CDLL | None:
    """The virtual GPU's own library, where this process has one."""
    for name in (None, "libvramfit_virtual_gpu.so"):
        try:
            library = ctypes.CDLL(name)
            library.vramfit_gpu_track_values  # noqa: B018 - asks whether it is there
        except (OSError, AttributeError):
            continue
        return library
    return None
