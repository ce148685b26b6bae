"""What a process holds besides PyTorch's memory, from out-of-memory messages of real cards: fitted and checked.

    python bench/published/library_memory.py

A message tells P in use, A allocated and R reserved: P - A - R is the context with what the driver and the libraries
took since, to 10 MiB. The rule that is fitted, for a card with T resident threads (processors x threads of each):

    context + bytes_per_thread x T, once a kernel was launched + library_mib for each library that was used

with the least sum of absolute errors, so that a few odd rows do not move it. It is checked on cards left out, one at a
time, and on ranges of other messages that are in no row. Both beside the rule in force (28 MiB, 93 on data-centre
cards). Sources: fixtures/published/README.md.
"""

from __future__ import annotations

import csv
import statistics
from dataclasses import dataclass
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures" / "published"
MIB = 1 << 20
LIBRARIES = {"blas", "cudnn", "extension"}


@dataclass(frozen=True)
class Row:
    """One message, or one range of several; sizes are MiB."""

    card: str
    job: str
    low: float
    high: float
    context: float
    threads: int
    kernels: bool
    libraries: int
    before: float


def read_rows(name: str) -> list[Row]:
    """The rows of a fixture whose card is known and for which all three figures were printed."""
    cards = {card["key"]: card for card in tomllib.loads((ROOT / "src/devices/cards.toml").read_text())["card"]}
    rows = []
    for row in csv.DictReader((FIXTURES / name).open()):
        if not row["card"]:
            continue
        card = cards[row["card"]]
        loads = set(row["loads"].split())
        context = card["overhead"]["12"]["context_lazy_bytes"] / MIB
        low, high = measured_range(row)
        rows.append(
            Row(
                row["card"],
                row["job"],
                low,
                high,
                context,
                card["sm_count"] * card["max_threads_per_sm"],
                "kernels" in loads,
                len(loads & LIBRARIES),
                context + ("kernels" in loads) * (93 if card["category"] == "datacenter" else 28),
            )
        )
    return rows


def measured_range(row: dict[str, str]) -> tuple[float, float]:
    """MiB: P - A - R of a message, or the range that a row gives."""
    if "low_mib" in row:
        return float(row["low_mib"]), float(row["high_mib"])
    held = (float(row["process_gib"]) - float(row["allocated_gib"])) * 1024 - float(row["reserved_unallocated_mib"])
    return held, held


def predict(row: Row, rule: tuple[int, int]) -> float:
    """MiB, for (bytes of each resident thread, MiB of each library)."""
    per_thread, library = rule
    return row.context + row.kernels * (row.threads * per_thread / MIB + library * row.libraries)


def error(row: Row, said: float) -> float:
    """How far outside what was measured, MiB."""
    return min(said - row.low, 0) if said < row.high else said - row.high


def fit(rows: list[Row]) -> tuple[int, int]:
    """The rule with the least sum of absolute errors, by trying every one."""
    rules = [(per_thread, library) for per_thread in range(100, 801, 10) for library in range(0, 31)]
    used = [row for row in rows if row.kernels]
    return min(rules, key=lambda rule: sum(abs(error(row, predict(row, rule))) for row in used))


def uncertainty(row: Row, rule: tuple[int, int]) -> float:
    """MiB: 24 and a tenth of the context, and half of what came later."""
    return 24 + row.context / 10 + (predict(row, rule) - row.context) / 2


def summary(name: str, errors: list[float]) -> str:
    sizes = [abs(one) for one in errors]
    return (
        f"  {name:34} median {statistics.median(sizes):5.1f}  mean {statistics.mean(sizes):5.1f}  "
        f"largest {max(sizes):5.1f}  on average {statistics.mean(errors):+6.1f}"
    )


def print_rows(rows: list[Row], rules: list[tuple[int, int]]) -> None:
    print(f"  {'card':14}{'job':32}{'measured':>12}{'before':>8}{'now':>7}   MiB")
    for row, rule in zip(rows, rules, strict=True):
        measured = f"{row.low:.0f}" if row.low == row.high else f"{row.low:.0f}-{row.high:.0f}"
        now = predict(row, rule)
        mark = "" if abs(error(row, now)) <= uncertainty(row, rule) else "  outside the uncertainty"
        print(f"  {row.card:14}{row.job[:31]:32}{measured:>12}{row.before:8.0f}{now:7.0f}{mark}")


def compare(title: str, rows: list[Row], rules: list[tuple[int, int]]) -> None:
    print(f"\n{title}")
    print_rows(rows, rules)
    inside = sum(abs(error(row, predict(row, rule))) <= uncertainty(row, rule) for row, rule in zip(rows, rules))
    print(summary("in force", [error(row, row.before) for row in rows]))
    print(summary("fitted", [error(row, predict(row, rule)) for row, rule in zip(rows, rules)]))
    print(f"  inside the uncertainty {inside} of {len(rows)}")


def main() -> None:
    rows = read_rows("context_from_oom_messages.csv")
    rule = fit(rows)
    print(f"fitted on all {len(rows)} messages: {rule[0]} bytes a resident thread, {rule[1]} MiB a library")
    left_out = [fit([other for other in rows if other.card != row.card]) for row in rows]
    compare("each card by the rule fitted without it", rows, left_out)
    others = read_rows("context_of_other_messages.csv")
    compare("other messages, which nothing was fitted on", others, [rule] * len(others))


if __name__ == "__main__":
    main()
