"""The holders of a card's memory when it was fullest, of what a job recorded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hooked_job import OWNERS, Finished


@dataclass
class Held:
    """What lived at the fullest moment, by owner and by the name it was tagged with."""

    bytes: Counter[str]
    names: dict[str, set[str]]


def held_at_peak(run: Finished, least: int = 1 << 16) -> Held:
    """Goes by the last tag of each block's life, as src/liveness takes it."""
    assert run.exit_code == 0, run.stderr
    blocks: list[list[object]] = []  # address, size, born, died, owner, name
    living: dict[int, int] = {}
    level, most, peak = 0, 0, 0
    for at, record in enumerate(run.records):
        if record.kind == "alloc":
            living[record.address] = len(blocks)
            blocks.append([record.address, record.size, at, len(run.records), 0, ""])
            level += record.size
            if level > most:
                most, peak = level, at
        elif record.kind == "free" and record.address in living:
            block = blocks[living.pop(record.address)]
            block[3] = at
            level -= record.size
        elif record.kind == "tag":
            inside = [i for a, i in living.items() if a <= record.address < a + int(str(blocks[i][1]))]
            for index in inside:
                blocks[index][4:] = [record.a, record.text]
    held = Held(Counter(), {})
    for _, size, born, died, owner, name in blocks:
        if int(str(born)) <= peak < int(str(died)) and int(str(size)) >= least:
            key = OWNERS[int(str(owner))]
            held.bytes[key] += int(str(size))
            held.names.setdefault(key, set()).add(str(name))
    return held
