"""What the driver and NVML say of a card and do with its memory, asked through their C interfaces.

The same calls go to the real libraries and to the stand-ins. Each probe runs in a process of its own: a context is
part of what it measures.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

MIB = 1 << 20
CUDA_DEVICE_ATTRIBUTES = 160
NVML_SUCCESS = 0


class Driver:
    """libcuda.so.1 with a context on the first card."""

    def __init__(self) -> None:
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.must("cuInit", 0)
        self.device = ctypes.c_int()
        self.must("cuDeviceGet", ctypes.byref(self.device), 0)

    def call(self, name: str, *args: Any) -> int:
        return getattr(self.lib, name)(*args)

    def must(self, name: str, *args: Any) -> None:
        code = self.call(name, *args)
        if code:
            raise RuntimeError(f"{name} answered {code}")

    def retain_context(self) -> None:
        context = ctypes.c_void_p()
        self.must("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.must("cuCtxSetCurrent", context)

    def free_and_total(self) -> tuple[int, int]:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.must("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def allocate(self, size: int) -> tuple[int, int]:
        """The driver's code and the address."""
        address = ctypes.c_uint64()
        return self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size)), address.value

    def give_back(self, address: int) -> None:
        self.must("cuMemFree_v2", ctypes.c_uint64(address))


def attributes() -> dict[str, Any]:
    """Every device attribute by its number, and the name, memory and identity of the card."""
    driver = Driver()
    found: dict[str, Any] = {}
    for number in range(1, CUDA_DEVICE_ATTRIBUTES):
        value = ctypes.c_int()
        code = driver.call("cuDeviceGetAttribute", ctypes.byref(value), number, driver.device)
        found[str(number)] = value.value if code == 0 else f"error {code}"
    name = ctypes.create_string_buffer(256)
    driver.must("cuDeviceGetName", name, 256, driver.device)
    total, version = ctypes.c_size_t(), ctypes.c_int()
    driver.must("cuDeviceTotalMem_v2", ctypes.byref(total), driver.device)
    driver.must("cuDriverGetVersion", ctypes.byref(version))
    return {
        "attributes": found,
        "name": name.value.decode(),
        "total_bytes": total.value,
        "driver_api": version.value,
    }


def context() -> dict[str, Any]:
    """Free memory around the first context, by NVML and by the driver, and the limits of the context."""
    nvml = Nvml()
    before = nvml.memory()
    driver = Driver()
    after_init = nvml.memory()
    driver.retain_context()
    free, total = driver.free_and_total()
    limits = {}
    for number in range(8):
        value = ctypes.c_size_t()
        code = driver.call("cuCtxGetLimit", ctypes.byref(value), number)
        limits[str(number)] = value.value if code == 0 else f"error {code}"
    return {
        "nvml_before": before,
        "nvml_after_init": after_init,
        "nvml_with_context": nvml.memory(),
        "process_bytes": nvml.own_bytes(),
        "free": free,
        "total": total,
        "limits": limits,
    }


SIZES = (
    *(1, 256, 512, 4096, 65536, 1 << 18, 1 << 19, 1 << 19, 1 << 20, 1 << 20, 1 << 20),
    *(MIB + 1, 2 * MIB, 2 * MIB, 2 * MIB, 3 * MIB, 4 * MIB, 6 * MIB, 10 * MIB, 12 * MIB, 20 * MIB, 20 * MIB, 20 * MIB),
    *(22 * MIB, 30 * MIB, 32 * MIB, 33 * MIB, 34 * MIB, 62 * MIB, 64 * MIB, 66 * MIB, 100 * MIB, 128 * MIB, 130 * MIB),
    *(256 * MIB, 500 * MIB, 514 * MIB, 1024 * MIB, 1026 * MIB, 2 * MIB, 2 * MIB, 2 * MIB, 20 * MIB, 20 * MIB),
)


def places() -> dict[str, Any]:
    """Where allocations of many sizes come to lie, and by how much they lessen what is free; then with holes."""
    driver = Driver()
    driver.retain_context()
    rows, held = [], []

    def note(what: str, size: int, address: int, before: int) -> None:
        rows.append([what, size, address, before - driver.free_and_total()[0]])

    for size in SIZES:
        before = driver.free_and_total()[0]
        _, address = driver.allocate(size)
        held.append((size, address))
        note("alloc", size, address, before)
    for size, address in held[::3]:
        before = driver.free_and_total()[0]
        driver.give_back(address)
        note("free", size, address, before)
    for size in (2 * MIB, 20 * MIB, 512, MIB, 22 * MIB, 2 * MIB, 64 * MIB, 4 * MIB, 20 * MIB):
        before = driver.free_and_total()[0]
        _, address = driver.allocate(size)
        note("alloc", size, address, before)
    return {"rows": rows}


def to_the_brim() -> dict[str, Any]:
    """How much can be had in all, in pieces of 1 GiB, then 20 MiB, then 2 MiB, and the code of the one that fails."""
    driver = Driver()
    driver.retain_context()
    free, total = driver.free_and_total()
    taken, codes = {}, {}
    for size in (1024 * MIB, 20 * MIB, 2 * MIB):
        count = 0
        while True:
            code, _ = driver.allocate(size)
            if code:
                codes[str(size)] = code
                break
            count += 1
        taken[str(size)] = count
    return {"free_before": free, "total": total, "taken": taken, "codes": codes, "left": driver.free_and_total()[0]}


def largest_piece() -> dict[str, Any]:
    """The largest single allocation to 2 MiB, found by halving."""
    driver = Driver()
    driver.retain_context()
    free, total = driver.free_and_total()
    low, high = 0, total // (2 * MIB) + 1
    while high - low > 1:
        middle = (low + high) // 2
        code, address = driver.allocate(middle * 2 * MIB)
        if code == 0:
            driver.give_back(address)
            low = middle
        else:
            high = middle
    return {"free": free, "largest_bytes": low * 2 * MIB}


class Nvml:
    """libnvidia-ml.so.1 on the first card."""

    def __init__(self) -> None:
        self.lib = ctypes.CDLL("libnvidia-ml.so.1")
        self.lib.nvmlInit_v2()
        self.handle = ctypes.c_void_p()
        code = self.lib.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.handle))
        if code != NVML_SUCCESS:
            raise RuntimeError(f"nvmlDeviceGetHandleByIndex_v2 answered {code}")

    def memory(self) -> dict[str, int]:
        class Memory(ctypes.Structure):
            _fields_ = [(n, ctypes.c_ulonglong) for n in ("version", "total", "reserved", "free", "used")]

        value = Memory(version=ctypes.sizeof(Memory) | 2 << 24)
        code = self.lib.nvmlDeviceGetMemoryInfo_v2(self.handle, ctypes.byref(value))
        return {"code": code, **{n: getattr(value, n) for n in ("total", "reserved", "free", "used")}}

    def own_bytes(self) -> int | None:
        """What NVML says this process holds; None where it is not listed."""

        class Process(ctypes.Structure):
            _fields_ = [
                ("pid", ctypes.c_uint),
                ("bytes", ctypes.c_ulonglong),
                ("gpu_instance", ctypes.c_uint),
                ("compute_instance", ctypes.c_uint),
            ]

        count, rows = ctypes.c_uint(64), (Process * 64)()
        for name in ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3"):
            count.value = 64
            if getattr(self.lib, name)(self.handle, ctypes.byref(count), rows) == NVML_SUCCESS:
                for row in rows[: count.value]:
                    if row.pid == os.getpid():
                        return int(row.bytes)
        return None


def nvml_facts() -> dict[str, Any]:
    """What NVML's plain questions answer: a value, or the code."""
    nvml = Nvml()
    found: dict[str, Any] = {"memory": nvml.memory()}
    for name in ("Name", "UUID", "Serial", "VbiosVersion", "BoardPartNumber", "InforomImageVersion"):
        text = ctypes.create_string_buffer(128)
        code = getattr(nvml.lib, f"nvmlDeviceGet{name}")(nvml.handle, text, 128)
        found[name] = code if name in ("UUID", "Serial") else (text.value.decode() if code == 0 else f"error {code}")
    for name in (
        *("Brand", "Index", "MinorNumber", "PowerManagementLimit", "EnforcedPowerLimit", "MultiGpuBoard"),
        *("PersistenceMode", "ComputeMode", "CurrPcieLinkGeneration", "MaxPcieLinkGeneration", "Architecture"),
        *("CurrPcieLinkWidth", "MaxPcieLinkWidth", "NumGpuCores", "MemoryBusWidth", "PerformanceState"),
        *("PowerSource", "IrqNum", "PcieSpeed", "DisplayActive", "DisplayMode", "BoardId"),
        *("PowerManagementDefaultLimit", "NumFans", "GpuMaxPcieLinkGeneration"),
    ):
        value = ctypes.c_uint()
        code = getattr(nvml.lib, f"nvmlDeviceGet{name}")(nvml.handle, ctypes.byref(value))
        found[name] = value.value if code == 0 else f"error {code}"
    clocks = {}
    for kind in range(4):
        value = ctypes.c_uint()
        code = nvml.lib.nvmlDeviceGetMaxClockInfo(nvml.handle, kind, ctypes.byref(value))
        clocks[str(kind)] = value.value if code == 0 else f"error {code}"
    found["max_clocks"] = clocks
    for name in ("nvmlSystemGetDriverVersion", "nvmlSystemGetNVMLVersion"):
        text = ctypes.create_string_buffer(128)
        code = getattr(nvml.lib, name)(text, 128)
        found[name] = text.value.decode() if code == 0 else f"error {code}"
    return found


PROBES: dict[str, Callable[[], dict[str, Any]]] = {
    "attributes": attributes,
    "nvml": nvml_facts,
    "context": context,
    "places": places,
    "largest_piece": largest_piece,
    "to_the_brim": to_the_brim,
}
