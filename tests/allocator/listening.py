"""Listens to what PyTorch's allocator asks of the driver where its trace says nothing: the ranges it reserves (one in
which no page could be mapped leaves no trace), and when it begins to wait for events."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

LIBRARY = Path(torch.__file__).parent / "lib" / "libc10_cuda.so"
DRIVER_TABLE = "_ZN3c104cuda9DriverAPI3getEv"  # c10::cuda::DriverAPI::get()
DRIVER_ENTRIES = 64  # of that table: the driver's functions, one after the other
RESERVE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_uint64
)
WAIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
PT_DYNAMIC, DT_PLTRELSZ, DT_STRTAB, DT_SYMTAB, DT_JMPREL = 2, 2, 5, 6, 23  # elf.h
SYMBOL_BYTES, RELOCATION_BYTES = 24, 24


class Image:
    """A loaded library: where it lies, and where it keeps the addresses of functions that it imports."""

    def __init__(self, path: Path, known_symbol: str) -> None:
        self.library = ctypes.CDLL(str(path))
        self.file = path.read_bytes()
        self.dynamic = dict(struct.iter_unpack("<qQ", self.dynamic_section()))
        known = next(value for name, value in self.symbols() if name == known_symbol)
        self.base = ctypes.cast(self.library[known_symbol], ctypes.c_void_p).value - known

    def headers(self) -> list[tuple[int, ...]]:
        first, size, count = *struct.unpack_from("<Q", self.file, 32), *struct.unpack_from("<HH", self.file, 54)
        return [struct.unpack_from("<IIQQQQQQ", self.file, first + i * size) for i in range(count)]

    def offset_of(self, address: int) -> int:
        """In the file."""
        for kind, _, offset, begin, _, size, _, _ in self.headers():
            if kind == 1 and begin <= address < begin + size:
                return offset + address - begin
        raise ValueError(f"{address:#x} is in no part of the file")

    def dynamic_section(self) -> bytes:
        offset, size = next((header[2], header[5]) for header in self.headers() if header[0] == PT_DYNAMIC)
        return self.file[offset : offset + size]

    def name_of(self, symbol: int) -> str:
        (at,) = struct.unpack_from("<I", self.file, self.offset_of(self.dynamic[DT_SYMTAB]) + symbol * SYMBOL_BYTES)
        begin = self.offset_of(self.dynamic[DT_STRTAB]) + at
        return self.file[begin : self.file.index(b"\0", begin)].decode()

    def symbols(self) -> Any:
        """Names and values; the table of names follows that of symbols."""
        at = self.offset_of(self.dynamic[DT_SYMTAB])
        for symbol in range((self.offset_of(self.dynamic[DT_STRTAB]) - at) // SYMBOL_BYTES):
            yield self.name_of(symbol), struct.unpack_from("<Q", self.file, at + symbol * SYMBOL_BYTES + 8)[0]

    def import_of(self, name: str) -> ctypes.c_void_p:
        first = self.offset_of(self.dynamic[DT_JMPREL])
        for at in range(first, first + self.dynamic[DT_PLTRELSZ], RELOCATION_BYTES):
            place, symbol = struct.unpack_from("<QQ", self.file, at)
            if self.name_of(symbol >> 32) == name:
                return ctypes.c_void_p.from_address(self.base + place)
        raise ValueError(f"{name} is not imported")


class Listening:
    """`freed` says how many blocks the allocator has freed so far."""

    def __init__(self, freed: Callable[[], int]) -> None:
        self.reserved: list[int] = []  # addresses, in order
        self.freed = freed
        self.freed_before_wait: int | None = None
        image = Image(LIBRARY, DRIVER_TABLE)
        self.reserve = ctypes.CDLL("libcuda.so.1")["cuMemAddressReserve"]
        self.reserve.argtypes = RESERVE._argtypes_
        self.wait = ctypes.CDLL(None)["cudaEventSynchronize"]
        self.wait.argtypes = WAIT._argtypes_
        # Kept: PyTorch calls them as long as the process lives.
        self.listeners = RESERVE(self.on_reserve), WAIT(self.on_wait)
        self.in_table(image, self.reserve).value = ctypes.cast(self.listeners[0], ctypes.c_void_p).value
        image.import_of("cudaEventSynchronize").value = ctypes.cast(self.listeners[1], ctypes.c_void_p).value

    @staticmethod
    def in_table(image: Image, function: Any) -> ctypes.c_void_p:
        get_table = image.library[DRIVER_TABLE]
        get_table.restype = ctypes.c_void_p
        first, wanted = get_table(), ctypes.cast(function, ctypes.c_void_p).value
        places = [ctypes.c_void_p.from_address(first + 8 * entry) for entry in range(DRIVER_ENTRIES)]
        (found,) = [place for place in places if place.value == wanted]
        return found

    def on_reserve(self, address: Any, size: int, alignment: int, hint: int, flags: int) -> int:
        result = self.reserve(address, size, alignment, hint, flags)
        if result == 0:
            self.reserved.append(address[0])
        return result

    def on_wait(self, event: int) -> int:
        """The allocator's lock is held, by this thread: it may ask for statistics."""
        if self.freed_before_wait is None:
            self.freed_before_wait = self.freed()
        return self.wait(event)

    def take_freed_by_waiting(self) -> int:
        """How many blocks were freed since the allocator began to wait, the last time that it did."""
        before, self.freed_before_wait = self.freed_before_wait, None
        return 0 if before is None else self.freed() - before
