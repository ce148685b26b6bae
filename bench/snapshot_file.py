"""Writes memory snapshots of any size, as PyTorch 2.12 shapes them and with the opcodes of Python's C pickler.

    python snapshot_file.py FILE MEGABYTES [bare]    bare: without stacks, the most entries a byte
    python snapshot_file.py FILE ENTRIES training    what fits together: a trace that ends in its segments

What `torch.cuda.memory._dump_snapshot` gives for a training loop: every event has a dict and a stack of its own, stacks
share their frame dicts, keys and words are shared texts. A dict of this size would need ten times its file's memory, so
the opcodes are written one after the other. Deterministic.
"""

from __future__ import annotations

import random
import struct
import sys
from pathlib import Path
from typing import BinaryIO

EMPTY_LIST, EMPTY_DICT, MARK, APPENDS, SETITEMS, MEMOIZE, STOP = b"]", b"}", b"(", b"e", b"u", b"\x94", b"."
BATCH = 1000  # items an opcode, as the C pickler writes them
FRAME = 1 << 16  # bytes a frame, likewise


class PickleWriter:
    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.memo = 0
        self.texts: dict[str, int] = {}
        self.parts: list[bytes] = []
        self.waiting = 0
        file.write(b"\x80\x04")
        self.written = 2

    def raw(self, data: bytes) -> None:
        self.parts.append(data)
        self.waiting += len(data)
        if self.waiting >= FRAME:
            self.flush()

    def flush(self) -> None:
        data = b"".join(self.parts)
        self.file.write(b"\x95" + struct.pack("<Q", len(data)) + data)
        self.written += len(data) + 9
        self.parts, self.waiting = [], 0

    def memoize(self) -> int:
        self.raw(MEMOIZE)
        self.memo += 1
        return self.memo - 1

    def get(self, index: int) -> None:
        self.raw(b"h" + bytes((index,)) if index < 256 else b"j" + struct.pack("<I", index))

    def text(self, value: str, *, shared: bool = True) -> None:
        if shared and value in self.texts:
            self.get(self.texts[value])
            return
        data = value.encode()
        self.raw(
            b"\x8c" + bytes((len(data),)) + data if len(data) < 256 else b"X" + struct.pack("<I", len(data)) + data
        )
        index = self.memoize()
        if shared:
            self.texts[value] = index

    def number(self, value: int) -> None:
        if 0 <= value < 256:
            self.raw(b"K" + bytes((value,)))
        elif 0 <= value < 65536:
            self.raw(b"M" + struct.pack("<H", value))
        elif -(1 << 31) <= value < 1 << 31:
            self.raw(b"J" + struct.pack("<i", value))
        else:
            data = value.to_bytes((value.bit_length() >> 3) + 1, "little", signed=True)
            self.raw(b"\x8a" + bytes((len(data),)) + data)


class Stacks:
    """Frames like those of a model of a few hundred modules, in stacks of 15 to 60."""

    def __init__(self, source: random.Random) -> None:
        self.frames = [
            (
                f"/usr/lib/python3/site-packages/package_{n % 40}/module_{n % 200}.py",
                n % 900 + 1,
                f"forward_{n}",
            )
            for n in range(1500)
        ]
        self.memo: dict[int, int] = {}
        self.source = source
        self.shapes = [[source.randrange(1500) for _ in range(source.randrange(15, 60))] for _ in range(3000)]

    def write(self, out: PickleWriter) -> None:
        out.raw(EMPTY_LIST)
        out.memoize()
        out.raw(MARK)
        for frame in self.source.choice(self.shapes):
            if frame in self.memo:
                out.get(self.memo[frame])
                continue
            file, line, name = self.frames[frame]
            out.raw(EMPTY_DICT)
            self.memo[frame] = out.memoize()
            out.raw(MARK)
            out.text("name")
            out.text(name, shared=False)
            out.text("filename")
            out.text(file, shared=False)
            out.text("line")
            out.number(line)
            out.raw(SETITEMS)
        out.raw(APPENDS)


def write_entry(out: PickleWriter, stacks: Stacks | None, action: str, address: int, size: int, time_us: int) -> None:
    out.raw(EMPTY_DICT)
    out.memoize()
    out.raw(MARK)
    out.text("action")
    out.text(action)
    for name, value in (("addr", address), ("size", size), ("stream", 0), ("time_us", time_us)):
        out.text(name)
        out.number(value)
    out.text("compile_context")
    out.text("N/A", shared=False)
    out.text("user_metadata")
    out.text("", shared=False)
    out.text("pool_id")
    out.number(0)
    out.number(0)
    out.raw(b"\x86")
    out.memoize()
    if stacks:
        out.text("frames")
        stacks.write(out)
    out.raw(SETITEMS)


def write_segments(out: PickleWriter, stacks: Stacks, count: int) -> None:
    """`count` large segments of 20 MiB, each with ten blocks."""
    for segment in range(count):
        out.raw(EMPTY_DICT)
        out.memoize()
        out.raw(MARK)
        address, size = 0x7F00_0000_0000 + segment * (20 << 20), 20 << 20
        for name, value in (
            ("device", 0),
            ("address", address),
            ("total_size", size),
            ("allocated_size", size // 2),
            ("active_size", size // 2),
            ("requested_size", size // 2 - 5120),
            ("stream", 0),
        ):
            out.text(name)
            out.number(value)
        out.text("segment_type")
        out.text("large")
        out.text("blocks")
        out.raw(EMPTY_LIST)
        out.memoize()
        out.raw(MARK)
        for block in range(10):
            out.raw(EMPTY_DICT)
            out.memoize()
            out.raw(MARK)
            in_use = block % 2 == 0
            for name, value in (
                ("address", address + block * (2 << 20)),
                ("size", 2 << 20),
                ("requested_size", (2 << 20) - 1024 if in_use else 0),
            ):
                out.text(name)
                out.number(value)
            out.text("state")
            out.text("active_allocated" if in_use else "inactive")
            out.text("frames")
            stacks.write(out)
            out.raw(SETITEMS)
        out.raw(APPENDS)
        out.raw(SETITEMS)


def write_snapshot(path: Path, size_bytes: int, *, has_stacks: bool = True) -> int:
    """Writes at least `size_bytes`; gives the number of trace entries."""
    source = random.Random(4)
    entries = 0
    with path.open("wb") as file:
        out = PickleWriter(file)
        stacks = Stacks(source)
        out.raw(EMPTY_DICT)
        out.memoize()
        out.raw(MARK)
        out.text("segments")
        out.raw(EMPTY_LIST)
        out.memoize()
        out.raw(MARK)
        write_segments(out, stacks, 100)
        out.raw(APPENDS)
        out.text("device_traces")
        out.raw(EMPTY_LIST)
        out.memoize()
        out.raw(EMPTY_LIST)
        out.memoize()
        while out.written < size_bytes:
            out.raw(MARK)
            for _ in range(BATCH):
                entries += 1
                action = ("alloc", "free_requested", "free_completed")[entries % 3]
                address = 0x7F00_0000_0000 + source.randrange(1 << 20) * 512
                write_entry(
                    out,
                    stacks if has_stacks else None,
                    action,
                    address,
                    source.randrange(1, 1 << 26),
                    1_795_255_000_000_000 + entries * 7,
                )
            out.raw(APPENDS)
        out.raw(b"a")  # the trace into the list of traces
        out.raw(SETITEMS)
        out.raw(STOP)
        out.flush()
    return entries


MIB = 1 << 20
FIRST_ADDRESS = 0x7F00_0000_0000
LAYERS = 240
WEIGHT = 4 * MIB
SMALL = 64 << 10
# Of each layer's activation; a segment of 64 MiB holds whole layers.
ACTIVATIONS = (16 * MIB, 32 * MIB, 8 * MIB, 8 * MIB)
SENTINEL_US = 0x06_5A_A5_5A_A5_5A_A5
FIRST_US = 1_795_255_000_000_000


def training_segments() -> list[tuple[int, int]]:
    """Address and size: weights, activations, one of 64 MiB for gradients in passing, one small pool's."""
    weights = (FIRST_ADDRESS, LAYERS * WEIGHT)
    activations = (FIRST_ADDRESS + (1 << 34), LAYERS // 4 * 64 * MIB)
    return [weights, activations, (FIRST_ADDRESS + (1 << 36), 64 * MIB), (FIRST_ADDRESS + (1 << 37), 2 * MIB)]


def training_step() -> list[tuple[str, int, int]]:
    """Forward: an activation a layer, and a small block in passing; backward: a gradient in passing, then the free."""
    _, (activations, _), (gradients, _), (small, _) = training_segments()
    places, at = [], activations
    for layer in range(LAYERS):
        places.append((at, ACTIVATIONS[layer % 4]))
        at += ACTIVATIONS[layer % 4]
    entries: list[tuple[str, int, int]] = []

    def free(address: int, size: int) -> None:
        entries.append(("free_requested", address, size))
        entries.append(("free_completed", address, size))

    for address, size in places:
        entries.append(("alloc", address, size))
        entries.append(("alloc", small, SMALL))
        free(small, SMALL)
    for address, size in reversed(places):
        entries.append(("alloc", gradients, size))
        free(gradients, size)
        free(address, size)
    return entries


class Stamped:
    """The bytes of an entry, all but its time."""

    def __init__(self, out: PickleWriter, stacks: Stacks, entry: tuple[str, int, int]) -> None:
        kept, out.parts = out.parts, []
        waiting = out.waiting
        write_entry(out, stacks, *entry, SENTINEL_US)
        whole, out.parts, out.waiting = b"".join(out.parts), kept, waiting
        self.before, self.after = whole.split(SENTINEL_US.to_bytes(7, "little"))

    def at(self, time_us: int) -> bytes:
        return self.before + time_us.to_bytes(7, "little") + self.after


def write_training_segments(out: PickleWriter, stacks: Stacks) -> None:
    for number, (address, size) in enumerate(training_segments()):
        blocks = (
            [(address + i * WEIGHT, WEIGHT, True) for i in range(LAYERS)] if number == 0 else [(address, size, False)]
        )
        used = sum(length for _, length, in_use in blocks if in_use)
        out.raw(EMPTY_DICT)
        out.memoize()
        out.raw(MARK)
        numbers = {"device": 0, "address": address, "total_size": size, "allocated_size": used, "active_size": used}
        for name, value in {**numbers, "requested_size": used, "stream": 0}.items():
            out.text(name)
            out.number(value)
        out.text("segment_type")
        out.text("small" if size == 2 * MIB else "large")
        out.text("blocks")
        out.raw(EMPTY_LIST)
        out.memoize()
        out.raw(MARK)
        for start, length, in_use in blocks:
            out.raw(EMPTY_DICT)
            out.memoize()
            out.raw(MARK)
            for name, value in (("address", start), ("size", length), ("requested_size", length if in_use else 0)):
                out.text(name)
                out.number(value)
            out.text("state")
            out.text("active_allocated" if in_use else "inactive")
            out.text("frames")
            stacks.write(out)
            out.raw(SETITEMS)
        out.raw(APPENDS)
        out.raw(SETITEMS)


def write_training(path: Path, least_entries: int) -> int:
    """Writes whole steps of a training loop, at least `least_entries`; gives their number."""
    step = training_step()
    with path.open("wb") as file:
        out = PickleWriter(file)
        stacks = Stacks(random.Random(4))
        out.raw(EMPTY_DICT)
        out.memoize()
        out.raw(MARK)
        out.text("segments")
        out.raw(EMPTY_LIST)
        out.memoize()
        out.raw(MARK)
        write_training_segments(out, stacks)
        out.raw(APPENDS)
        out.text("device_traces")
        out.raw(EMPTY_LIST)
        out.memoize()
        out.raw(EMPTY_LIST)
        out.memoize()
        weights = training_segments()[0][0]
        first = [("segment_alloc", *segment) for segment in training_segments()]
        first += [("alloc", weights + i * WEIGHT, WEIGHT) for i in range(LAYERS)]
        # Once as a whole, so that every text and frame is shared by what follows.
        entries = 0
        out.raw(MARK)
        for entry in first + step:
            write_entry(out, stacks, *entry, FIRST_US + entries * 7)
            entries += 1
        out.raw(APPENDS)
        stamped = [Stamped(out, stacks, entry) for entry in step]
        while entries < least_entries:
            times = range(FIRST_US + entries * 7, FIRST_US + (entries + len(step)) * 7, 7)
            out.raw(MARK + b"".join(one.at(time) for one, time in zip(stamped, times)) + APPENDS)
            entries += len(step)
        out.raw(b"a")  # the trace into the list of traces
        out.raw(SETITEMS)
        out.raw(STOP)
        out.flush()
    return entries


if __name__ == "__main__":
    if "training" in sys.argv[3:]:
        print(write_training(Path(sys.argv[1]), int(sys.argv[2])))
        raise SystemExit
    print(write_snapshot(Path(sys.argv[1]), int(sys.argv[2]) << 20, has_stacks="bare" not in sys.argv[3:]))
