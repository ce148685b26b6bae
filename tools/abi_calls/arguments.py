"""Builds arguments for a call from a prototype alone: handles from the library's own creating functions, device memory
for untyped data, and poisoned host memory for everything that the function may write."""

from __future__ import annotations

import ctypes
import dataclasses
import re
from collections.abc import Callable

from abi_calls.prototypes import SIZES, Parameter, Prototype

POISON = 0x5A
BUFFER_BYTES = 1 << 16
DEVICE_BYTES = 1 << 20
# Structs that are passed by value, in bytes (cuda.h, driver_types.h, nccl.h).
BY_VALUE = {
    "cudaExtent": 24,
    "cudaPos": 24,
    "cudaPitchedPtr": 32,
    "cudaIpcMemHandle_t": 64,
    "cudaIpcEventHandle_t": 64,
    "CUipcMemHandle": 64,
    "CUipcMemHandle_v1": 64,
    "CUipcEventHandle": 64,
    "CUipcEventHandle_v1": 64,
    "UniqueId": 128,
    "cudaMemLocation": 8,
    "CUmemLocation": 8,
    "CUmemLocation_v1": 8,
    "dim3": 12,
}
# Plain numbers under names of their own; a driver's device is its index, its device pointer an address.
NUMBERS = {"CUdevice": 4, "CUdevice_v1": 4, "cuuint32_t": 4, "cuuint64_t": 8, "cudaGraphConditionalHandle": 8}
ADDRESSES = {"CUdeviceptr", "CUdeviceptr_v2"}
INDEX_NAMES = {"device", "dev", "card", "ordinal", "rank", "root", "peer", "dstDevice", "srcDevice", "peerDevice"}

# Scalars that are read before they are written: how many entries the caller's list has room for.
ROOM = re.compile(
    r"cu(da)?(Graph(Get\w*Nodes|GetEdges|Node\w*Dependen\w+)|StreamGetCaptureInfo)\w*|nvml\w*Processes\w*"
)
ROOM_ENTRIES = 5
# The first 32-bit words of structs that are read, where zeros mean nothing valid (cuda.h, driver_types.h).
STRUCTS = {
    "CUmemAllocationProp": (1, 1, 1, 0),  # pinned, exportable as a file, on device 0
    "CUmemAllocationProp_v1": (1, 1, 1, 0),
    "cudaMemPoolProps": (1, 0, 1, 0),
    "CUmemPoolProps": (1, 0, 1, 0),
    "CUmemAccessDesc": (1, 0, 3),  # device 0 may read and write
    "CUmemAccessDesc_v1": (1, 0, 3),
    "cudaMemAccessDesc": (1, 0, 3),
    "cudaMemLocation": (1, 0),
    "CUmemLocation": (1, 0),
}
TEXTS = {"name": b"kernel", "symbol": b"cuInit", "pciBusId": b"0000:01:00.0", "bus_id": b"00000000:01:00.0"}

SIZE_NAMES = {"size", "bytesize"}
ROOM_NAMES = {"bytes", "length", "len"}  # of a text buffer

Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
quiet_callback = Callback(lambda _: None)


@dataclasses.dataclass
class Types:
    """What the names of one library's types stand for, and how to make an object of each handle type."""

    pointers: set[str]
    callbacks: set[str]
    creators: dict[str, list[Prototype]]

    def is_handle(self, name: str) -> bool:
        return name in self.creators or name in self.pointers


@dataclasses.dataclass
class Output:
    """One poisoned out-parameter. `size` is that of a scalar, 0 for a struct or for untyped memory. `given` is what a
    parameter that is read first says, in place of poison."""

    index: int
    memory: ctypes.Array
    size: int
    given: int | None = None

    def written(self) -> bool:
        """A struct: its first bytes. A scalar: both halves, so that an `int` written to a `size_t` is seen."""
        if self.given is not None:
            return int.from_bytes(bytes(self.memory[: self.size]), "little") != self.given
        if self.size == 0:
            return any(byte != POISON for byte in self.memory[:256])
        if self.size < 4:
            return self.memory[0] != POISON
        halves = [self.memory[at : at + self.size // 2] for at in (0, self.size // 2)]
        return all(any(byte != POISON for byte in half) for half in halves)


def poisoned(index: int, size: int, given: int | None = None) -> Output:
    memory = (ctypes.c_ubyte * BUFFER_BYTES)()
    ctypes.memset(memory, POISON, BUFFER_BYTES)
    if given is not None:
        ctypes.memmove(memory, given.to_bytes(size, "little"), size)
    return Output(index, memory, size, given)


def is_creator(prototype: Prototype) -> bool:
    return re.search(r"[Cc]reate|Init|Instantiate|Alloc|GetHandleByIndex|Add\w+Node|Load", prototype.name) is not None


def find_types(prototypes: dict[str, Prototype], pointers: set[str], callbacks: set[str]) -> Types:
    """A handle type is one that a creating function hands out: `X**` or `X*` of a name that stands for a pointer."""
    creators: dict[str, list[Prototype]] = {}
    for prototype in sorted(prototypes.values(), key=lambda p: (len(p.parameters), len(p.name))):
        if not is_creator(prototype):
            continue
        for parameter in prototype.parameters:
            made = parameter.pointee if parameter.is_pointer and not parameter.const else ""
            if (made.endswith("*") and made not in ("void*", "char*")) or made in pointers or is_plan(prototype, made):
                creators.setdefault(made, []).append(prototype)
    return Types(pointers, callbacks, creators)


def is_plan(prototype: Prototype, made: str) -> bool:
    """Handles that are plain numbers: cuFFT's plans, the driver's physical memory."""
    return (prototype.name, made) == ("cufftCreate", "int") or made.startswith("CUmemGenericAllocationHandle")


@dataclasses.dataclass
class Maker:
    """Makes arguments for calls of one library. `call` runs a function by prototype and arguments."""

    types: Types
    device_memory: int
    call: Callable[[Prototype, list], int]
    number: int = 1  # for every integer and enum
    bytes: int = 1  # for every size in bytes
    depth: int = 0
    made: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def plans(self) -> set[str]:
        return {"number"} if "int" in self.types.creators else set()

    def handle(self, name: str) -> int:
        """An object of a handle type, made once; null when none of its creating functions succeeds."""
        if name in self.made or self.depth > 4:
            return self.made.get(name, 0)
        self.made[name] = 0
        self.depth += 1
        before = self.number, self.bytes
        for creator in self.types.creators.get(name, []):
            for self.number, self.bytes in ((1, 1), (0, 0), (0, 2 << 20)):
                if self.made[name] == 0:
                    self.made[name] = self.created(creator, name)
        self.depth -= 1
        self.number, self.bytes = before
        return self.made[name]

    def created(self, creator: Prototype, name: str) -> int:
        arguments, outputs = self.arguments(creator)
        wanted = next(i for i, p in enumerate(creator.parameters) if p.is_pointer and not p.const and p.pointee == name)
        if self.call(creator, arguments) != 0:
            return 0
        memory = next(output.memory for output in outputs if output.index == wanted)
        return int.from_bytes(bytes(memory[:8]), "little")

    def arguments(self, prototype: Prototype) -> tuple[list, list[Output]]:
        outputs: list[Output] = []
        arguments = []
        for index, parameter in enumerate(prototype.parameters):
            if parameter.is_pointer:
                arguments.append(self.pointer(prototype, index, parameter, outputs))
            else:
                arguments.append(self.value(parameter))
        return arguments, outputs

    def pointer(self, prototype: Prototype, index: int, parameter: Parameter, outputs: list[Output]) -> object:
        pointee = parameter.pointee
        if parameter.type in self.types.creators:
            return ctypes.c_void_p(self.handle(parameter.type))
        if pointee in self.types.creators and re.search("Destroy", prototype.name):  # nulls the caller's handle
            return self.input_array(pointee, parameter.name)
        if pointee == "void" and (parameter.const or not asks(prototype)):
            return ctypes.c_void_p(self.device_memory)
        if parameter.const:
            return self.input_array(pointee, parameter.name)
        size = SIZES.get(pointee, NUMBERS.get(pointee, 0))
        if size == 0 and (pointee.endswith("*") or self.types.is_handle(pointee) or pointee in ADDRESSES):
            size = 8
        reads = ROOM.fullmatch(prototype.name) is not None and pointee in ("size_t", "unsigned", "unsigned int")
        outputs.append(poisoned(index, size, ROOM_ENTRIES if reads else None))
        return outputs[-1].memory

    def input_array(self, pointee: str, name: str) -> ctypes.Array:
        """A known struct or text, a list of ones, a list of handles or addresses; else zeros."""
        memory = (ctypes.c_ubyte * BUFFER_BYTES)()
        if pointee in STRUCTS:
            content = b"".join(word.to_bytes(4, "little") for word in STRUCTS[pointee])
        elif pointee == "char":
            content = TEXTS.get(name, b"")
        elif pointee in SIZES and pointee not in ("float", "double"):
            content = (1).to_bytes(SIZES[pointee], "little") * 16
        elif self.types.is_handle(pointee):
            content = self.handle(pointee).to_bytes(8, "little") * 16
        elif pointee.endswith("*"):
            content = self.device_memory.to_bytes(8, "little") * 16
        else:
            content = b""
        ctypes.memmove(memory, content, len(content))
        return memory

    def value(self, parameter: Parameter) -> object:
        name = parameter.type
        if name in ("float", "double"):
            return ctypes.c_double(1.0) if name == "double" else ctypes.c_float(1.0)
        if name in BY_VALUE:
            return type("ByValue", (ctypes.Structure,), {"_fields_": [("bytes", ctypes.c_ubyte * BY_VALUE[name])]})()
        if name in ADDRESSES:
            return ctypes.c_uint64(self.device_memory)
        if name in self.types.callbacks:
            return quiet_callback
        if self.types.is_handle(name) and name != "int":
            return ctypes.c_void_p(self.handle(name))
        if parameter.name in INDEX_NAMES or name in ("CUdevice", "CUdevice_v1"):
            return ctypes.c_int64(0)
        if name in ("unsigned", "int") and parameter.name in ROOM_NAMES:
            return ctypes.c_int64(256)
        if parameter.name in self.plans:
            return ctypes.c_int64(self.handle("int"))
        return ctypes.c_int64(self.bytes if name == "size_t" and parameter.name in SIZE_NAMES else self.number)


def asks(prototype: Prototype) -> bool:
    """Whether the function is there to answer, so that untyped memory it may write is the caller's, not a card's."""
    return re.search(r"Get|Query|Info|Version|Name|Attribute", prototype.name) is not None
