"""Random objects, pickled by Python with every protocol, are read back the same: values, types, sharing and cycles."""

from __future__ import annotations

import gc
import os
import pickle
import random
import struct
from pathlib import Path
from typing import Any

import pytest
from dump import dump, run

OBJECTS = 60


class Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.made: list[Any] = []

    def integer(self) -> int:
        return self.random.choice((0, 1, -1)) + self.random.choice((1, -1)) * (
            1 << self.random.choice((0, 7, 8, 15, 16, 31, 32, 63, 64, 70, 255, 2039, 2047, 4000))
        )

    def text(self) -> str:
        alphabet = self.random.choice(
            ("abc", "a\\u'\"\n\t\x00\r", "\xe9\xff\x80", "\u20ac\ud800\uffff", "\U0001f600\x7f")
        )
        return "".join(self.random.choices(alphabet, k=self.random.choice((0, 1, 5, 300))))

    def scalar(self) -> Any:
        pick = self.random.randrange(7)
        if pick == 0:
            return self.random.choice((None, True, False))
        if pick in (1, 2):
            return self.integer()
        if pick == 3:
            return self.random.choice(
                (0.0, -0.0, 1.5, 1e300, 5e-324, float("inf"), float("-inf"), self.random.random(), -1e-7)
            )
        if pick in (4, 5):
            return self.text()
        return bytes(self.random.choices(range(256), k=self.random.choice((0, 1, 5, 300))))

    def value(self, depth: int) -> Any:
        if self.made and self.random.random() < 0.2:
            return self.random.choice(self.made)
        if depth == 0 or self.random.random() < 0.3:
            return self.scalar()
        count = self.random.choice((0, 1, 1, 2, 3, 4, 7, 1200 if depth == 1 else 2))
        kind = self.random.randrange(7)
        if kind == 0:
            made: Any = []
            self.made.append(made)  # it may come to hold itself
            made.extend(self.value(depth - 1) for _ in range(count))
        elif kind == 1:
            made = {}
            self.made.append(made)
            for _ in range(count):
                made[self.scalar()] = self.value(depth - 1)
        elif kind == 2:
            made = tuple(self.value(depth - 1) for _ in range(count))
            self.made.append(made)
        elif kind == 3:
            made = {self.scalar() for _ in range(count)}
            self.made.append(made)
        elif kind == 4:
            made = frozenset(self.scalar() for _ in range(count))
            self.made.append(made)
        elif kind == 5:
            made = bytearray(self.random.choices(range(256), k=count))
        else:
            made = [self.value(depth - 1)]
            self.made.append(made)
        return made


class Comparison:
    """The dump's object table against the object: every container is visited once, as a pair."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.objects = table.get("objects", {})
        self.paired: dict[int, int] = {}  # number in the table -> id in Python

    def same(self, read: list[Any], value: Any) -> None:
        waiting = [(read, value)]
        while waiting:
            read, value = waiting.pop()
            kind = read[0]
            if kind != "ref":
                self.same_scalar(kind, read[1:], value)
                continue
            number = read[1]
            if number in self.paired:
                # Tuples that hold nothing mutable, and equal texts, may be one object in Python or several.
                assert self.paired[number] == id(value) or isinstance(value, (tuple, frozenset))
                continue
            self.paired[number] = id(value)
            entry = self.objects[str(number)]
            assert entry["kind"] == type(value).__name__, (entry["kind"], value)
            items = entry["items"]
            if isinstance(value, dict):
                flat = [part for pair in value.items() for part in pair]
            elif isinstance(value, (set, frozenset)):
                assert sorted(map(str, items)) == sorted(str(scalar(item)) for item in value)
                continue
            else:
                flat = list(value)
            assert len(items) == len(flat)
            waiting.extend(zip(items, flat, strict=True))

    @staticmethod
    def same_scalar(kind: str, read: list[Any], value: Any) -> None:
        assert [kind, *read] == scalar(value)


def scalar(value: Any) -> list[Any]:
    if value is None:
        return ["none"]
    if isinstance(value, bool):
        return ["bool", value]
    if isinstance(value, int):
        return ["int", str(value) if -(1 << 63) <= value < 1 << 63 else hex(value)]
    if isinstance(value, float):
        return ["float", struct.pack(">d", value).hex()]
    if isinstance(value, str):
        return ["str", value.encode("utf-8", "surrogatepass").hex()]
    return [type(value).__name__, value.hex()]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("pickler", [pickle.dumps, pickle._dumps], ids=["c", "python"])  # type: ignore[attr-defined]
def test_random_objects_are_read_back(protocol: int, pickler: Any, tmp_path: Path) -> None:
    path = tmp_path / "object.pickle"
    for seed in range(OBJECTS):
        value = Maker(seed).value(4)
        path.write_bytes(pickler(value, protocol=protocol))
        read = dump("pickle", path)
        Comparison(read).same(read["root"], pickle.loads(path.read_bytes()))
    gc.collect()  # the cycles


class Trap:
    """Would run a command if somebody executed the pickle."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (self.command,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_nothing_is_executed(protocol: int, tmp_path: Path) -> None:
    path, mark = tmp_path / "trap.pickle", tmp_path / "mark"
    path.write_bytes(pickle.dumps([Trap(f"touch {mark}")], protocol=protocol))
    read = dump("pickle", path)
    kinds = {entry["kind"] for entry in read["objects"].values()}
    assert kinds == {"list", "call", "global", "tuple"}
    assert not mark.exists()


def test_out_of_band_buffers_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "buffers.pickle"
    value = [pickle.PickleBuffer(bytearray(b"x" * 100))]
    path.write_bytes(pickle.dumps(value, protocol=5, buffer_callback=lambda _: None))
    done = run("pickle", path)
    assert done.returncode == 1
    assert "out-of-band" in done.stderr
    assert "offset" in done.stderr


@pytest.mark.parametrize("depth", [10_000])
def test_nesting_has_no_limit(depth: int, tmp_path: Path) -> None:
    path = tmp_path / "deep.pickle"
    path.write_bytes(b"\x80\x04" + b"]" * depth + b"a" * (depth - 1) + b".")
    assert len(dump("pickle", path)["objects"]) == depth
