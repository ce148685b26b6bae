"""What a process holds besides PyTorch's memory, from out-of-memory messages of real cards: fitted and checked.

    python bench/published/library_memory.py

A message tells P in use, A allocated and R reserved: P - A - R is the context with what the driver and the libraries
took since, to 10 MiB. The rule that is fitted, for a card with T resident threads (processors x threads of each):

    context + bytes_per_thread x T, once a kernel was launched + library_mib for each library that was used

with a figure of its own for Hopper, and the least sum of absolute errors, so that a few odd rows do not move it. It is
checked on cards left out, one at a time, and on ranges of other messages that are in no row. Both beside the rule
before it (28 MiB, 93 on data-centre cards, at the first library), and beside the catalogue, which has the fitted rule's
figures. Other rules that were fitted and left out alike are printed with their errors: why this one. Sources:
fixtures/published/README.md.
"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures" / "published"
MIB = 1 << 20
LIBRARIES = {"blas", "cudnn", "extension"}
HOPPER = "9.0"


@dataclass(frozen=True)
class Row:
    """One message, or one range of several; sizes are MiB."""

    card: str
    job: str
    low: float
    high: float
    context: float
    threads: int
    architecture: str
    kernels: bool
    libraries: int
    before: float
    in_catalogue: float


@dataclass(frozen=True)
class Rule:
    """Bytes of each resident thread, the same on Hopper, and MiB of each library."""

    per_thread: int
    per_thread_hopper: int
    library: int


def read_rows(name: str) -> list[Row]:
    """The rows of a fixture whose card is known and for which all three figures were printed."""
    cards = {card["key"]: card for card in tomllib.loads((ROOT / "src/devices/cards.toml").read_text())["card"]}
    rows = []
    for row in csv.DictReader((FIXTURES / name).open()):
        if not row["card"]:
            continue
        card = cards[row["card"]]
        loads = set(row["loads"].split())
        figures = card["overhead"]["12"]
        context = figures["context_lazy_bytes"] / MIB
        low, high = measured_range(row)
        kernels, libraries = "kernels" in loads, len(loads & LIBRARIES)
        rows.append(
            Row(
                row["card"],
                row["job"],
                low,
                high,
                context,
                card["sm_count"] * card["max_threads_per_sm"],
                card["compute_capability"],
                kernels,
                libraries,
                context + kernels * (93 if card["category"] == "datacenter" else 28),
                context + kernels * (figures["kernel_bytes"] + libraries * figures["library_bytes"]) / MIB,
            )
        )
    return rows


def measured_range(row: dict[str, str]) -> tuple[float, float]:
    """MiB: P - A - R of a message, or the range that a row gives."""
    if "low_mib" in row:
        return float(row["low_mib"]), float(row["high_mib"])
    held = (float(row["process_gib"]) - float(row["allocated_gib"])) * 1024 - float(row["reserved_unallocated_mib"])
    return held, held


def predict(row: Row, rule: Rule) -> float:
    """MiB."""
    per_thread = rule.per_thread_hopper if row.architecture == HOPPER else rule.per_thread
    return row.context + row.kernels * (row.threads * per_thread / MIB + rule.library * row.libraries)


def error(row: Row, said: float) -> float:
    """How far outside what was measured, MiB."""
    return min(said - row.low, 0) if said < row.high else said - row.high


def total_error(rows: list[Row], rule: Rule) -> float:
    return sum(abs(error(row, predict(row, rule))) for row in rows)


def fit(rows: list[Row]) -> Rule:
    """The rule with the least sum of absolute errors, by trying every one."""
    used = [row for row in rows if row.kernels]
    hopper = [row for row in used if row.architecture == HOPPER]
    others = [row for row in used if row.architecture != HOPPER]
    best: list[Rule] = []
    for library in range(0, 31):
        rules = [Rule(per_thread, per_thread, library) for per_thread in range(100, 801, 10)]
        own = min(rules, key=lambda rule: total_error(hopper, rule))
        rest = min(rules, key=lambda rule: total_error(others, rule))
        best.append(Rule(rest.per_thread, own.per_thread if hopper else rest.per_thread, library))
    return min(best, key=lambda rule: total_error(used, rule))


def fit_apart(rows: list[Row]) -> Callable[[Row], float]:
    rule = fit(rows)
    return lambda row: predict(row, rule)


def fit_alike(rows: list[Row]) -> Callable[[Row], float]:
    """The same with one figure for every architecture."""
    rule = fit([replace(row, architecture="") for row in rows])
    return lambda row: predict(replace(row, architecture=""), rule)


def fit_without_threads(rows: list[Row]) -> Callable[[Row], float]:
    """One figure for every card instead: as if kernels took their code's size."""
    used = [row for row in rows if row.kernels]
    rules = [(kernels, library) for kernels in range(0, 151) for library in range(0, 31)]

    def said(row: Row, rule: tuple[int, int]) -> float:
        return row.context + row.kernels * (rule[0] + rule[1] * row.libraries)

    best = min(rules, key=lambda rule: sum(abs(error(row, said(row, rule))) for row in used))
    return lambda row: said(row, best)


def uncertainty(row: Row, rule: Rule) -> float:
    """MiB: 24 and a tenth of the context, and half of what came later."""
    return 24 + row.context / 10 + (predict(row, rule) - row.context) / 2


def summary(name: str, errors: list[float]) -> str:
    sizes = [abs(one) for one in errors]
    return (
        f"  {name:34} median {statistics.median(sizes):5.1f}  mean {statistics.mean(sizes):5.1f}  "
        f"largest {max(sizes):5.1f}  on average {statistics.mean(errors):+6.1f}"
    )


def print_rows(rows: list[Row], rules: list[Rule]) -> None:
    print(f"  {'card':14}{'job':32}{'measured':>12}{'before':>8}{'fitted':>8}   MiB")
    for row, rule in zip(rows, rules, strict=True):
        measured = f"{row.low:.0f}" if row.low == row.high else f"{row.low:.0f}-{row.high:.0f}"
        now = predict(row, rule)
        mark = "" if abs(error(row, now)) <= uncertainty(row, rule) else "  outside the uncertainty"
        print(f"  {row.card:14}{row.job[:31]:32}{measured:>12}{row.before:8.0f}{now:8.0f}{mark}")


def compare(title: str, rows: list[Row], rules: list[Rule]) -> None:
    print(f"\n{title}")
    print_rows(rows, rules)
    print(summary("before", [error(row, row.before) for row in rows]))
    print(summary("fitted", [error(row, predict(row, rule)) for row, rule in zip(rows, rules, strict=True)]))
    inside = sum(
        abs(error(row, predict(row, rule))) <= uncertainty(row, rule) for row, rule in zip(rows, rules, strict=True)
    )
    print(f"  inside the uncertainty {inside} of {len(rows)}")


def compare_rules(rows: list[Row], others: list[Row]) -> None:
    """What else was tried, on the same rows left out."""
    print("\nother rules on the same rows: each card left out, then the other messages")
    rules = {
        "threads, Hopper apart (in force)": fit_apart,
        "threads, all alike": fit_alike,
        "one figure for every card": fit_without_threads,
    }
    for name, make in rules.items():
        said = [make([other for other in rows if other.card != row.card])(row) for row in rows]
        print(summary(name, [error(row, one) for row, one in zip(rows, said, strict=True)]))
        whole = make(rows)
        print(summary("", [error(row, whole(row)) for row in others]))


def main() -> None:
    rows = read_rows("context_from_oom_messages.csv")
    rule = fit(rows)
    print(
        f"fitted on all {len(rows)} messages: {rule.per_thread} bytes a resident thread, "
        f"{rule.per_thread_hopper} on Hopper, {rule.library} MiB a library"
    )
    left_out = [fit([other for other in rows if other.card != row.card]) for row in rows]
    compare("each card by the rule fitted without it", rows, left_out)
    others = read_rows("context_of_other_messages.csv")
    compare("other messages, which nothing was fitted on", others, [rule] * len(others))
    compare_rules(rows, others)
    print("\nthe catalogue's figures, over the rows of both: those it was fitted on too")
    print(summary("in force", [error(row, row.in_catalogue) for row in rows + others]))


if __name__ == "__main__":
    main()
