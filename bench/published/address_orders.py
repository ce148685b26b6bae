"""Which chunk does a driver on native Linux fill first? Counted on the segments of memory snapshots of real cards.

    python bench/published/address_orders.py SNAPSHOT.pickle...

Of each segment that a chunk in sight had room for: would this order have put it where it lay? Chunks that were there
before the recording began are not in sight, and choices that they took part in count as wrong for every order.
"""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1 << 20
CHUNK = 32 * MIB


class Plain(pickle.Unpickler):
    """Snapshots are lists, dictionaries, texts and numbers; anything else is refused."""

    def find_class(self, module: str, name: str) -> type:
        raise pickle.UnpicklingError(f"a snapshot does not hold {module}.{name}")


def round_up(size: int, step: int) -> int:
    return -(-size // step) * step


@dataclass
class Chunk:
    begin: int
    end: int
    made: int
    used: dict[int, int] = field(default_factory=dict)

    def hole(self, size: int) -> int | None:
        """The lowest address with room for `size` bytes."""
        at = self.begin
        for begin in sorted(self.used):
            if begin - at >= size:
                return at
            at = begin + self.used[begin]
        return at if self.end - at >= size else None


ORDERS = {
    "newest": lambda chunk, at, size: -chunk.made,
    "lowest": lambda chunk, at, size: at,
    "oldest": lambda chunk, at, size: chunk.made,
    "best fit": lambda chunk, at, size: chunk.end - at - size,
}


def count(trace: list[dict], order: str) -> tuple[int, int]:
    """How many segments this order puts where they lay, of how many choices."""
    chunks: list[Chunk] = []
    right = choices = 0
    for number, event in enumerate(trace):
        begin, size = event["addr"], round_up(event["size"], 2 * MIB)
        if event["action"] == "segment_alloc":
            fitting = [(chunk, at) for chunk in chunks if (at := chunk.hole(size)) is not None]
            if fitting:
                choices += 1
                right += min(fitting, key=lambda one: ORDERS[order](*one, size))[1] == begin
            home = next((chunk for chunk in chunks if chunk.begin <= begin and begin + size <= chunk.end), None)
            if home is None and begin % CHUNK == 0:
                home = Chunk(begin, begin + round_up(size, CHUNK), number)
                chunks.append(home)
            if home is not None:
                home.used[begin] = size
        elif event["action"] == "segment_free":
            for chunk in chunks:
                chunk.used.pop(begin, None)
            chunks = [chunk for chunk in chunks if chunk.used]
    return right, choices


def main(paths: list[str]) -> None:
    for path in paths:
        with Path(path).open("rb") as file:
            traces = Plain(file).load()["device_traces"]
        for trace in filter(None, traces):
            scores = {order: count(trace, order) for order in ORDERS}
            said = "  ".join(f"{order} {right} of {choices}" for order, (right, choices) in scores.items())
            print(f"{Path(path).name}: {said}")


if __name__ == "__main__":
    main(sys.argv[1:])
