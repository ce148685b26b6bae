"""Writes memory snapshots of any size, as PyTorch 2.12 shapes them and with the opcodes of Python's C pickler.

    python snapshot_file.py FILE MEGABYTES [bare]    bare: without stacks, the most entries a byte

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


if __name__ == "__main__":
    print(write_snapshot(Path(sys.argv[1]), int(sys.argv[2]) << 20, has_stacks="bare" not in sys.argv[3:]))
